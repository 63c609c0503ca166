"""``mgrid`` and ``ogrid``: coordinates of a grid, which is given by slices."""
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise import scalar
from phintys.ops.shape.dimshuffle import dimshuffle


class Grid:
    """Coordinates of the grid given by slices: ``mgrid[0:2, 0:3]`` is a list of tensors, one for each slice.

    Parameters
    ----------
    sparse : bool
        Whether each tensor has length 1 in all dimensions but its own.
    """

    def __init__(self, sparse=False):
        self.sparse = sparse

    def __getitem__(self, slices):
        slices = slices if isinstance(slices, tuple) else (slices,)
        for entry in slices:
            if isinstance(entry.step, complex):
                raise NotImplementedError("Not implemented for slices whose step is complex")
        rank = len(slices)
        ranges = [arange(0 if entry.start is None else entry.start, entry.stop, 1 if entry.step is None else entry.step)
                  for entry in slices]
        open_grid = [dimshuffle(values, ["x"] * axis + [0] + ["x"] * (rank - 1 - axis))
                     for axis, values in enumerate(ranges)]
        if self.sparse or rank == 1:
            return open_grid
        ones = [values.ones_like() for values in open_grid]
        return [scalar.mul(*[values if number == axis else ones[number] for number, values in enumerate(open_grid)])
                for axis in range(rank)]


mgrid = Grid()
ogrid = Grid(sparse=True)
