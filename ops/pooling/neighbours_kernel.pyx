"""Kernels of neighbourhoods: patches of images as the rows of a matrix, and the sums of such rows in images.

For each element of a patch, the patches for which it lies in the image form at most three stretches in each dimension:
one inside the image, and, if images are wrapped, one beyond each of its ends. A stretch is copied, or added, by
strides. If all patches are inside, all is one copy.
"""
from numpy cimport npy_intp

import numpy

from phintys.ops.native.asking cimport clear, ends_after
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.loops cimport InnerLoop, find_loop
from phintys.ops.native.strided_copy cimport copy_in_parts
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size
from phintys.vm.thresholds cimport LONG_COPY

MODES = ("valid", "half", "full", "wrap_centered", "ignore_borders")

cdef enum:
    VALID, HALF, FULL, WRAP_CENTERED, IGNORE_BORDERS

# Patches along one dimension.
cdef struct Grid:
    npy_intp length                # of the image
    npy_intp patch
    npy_intp step
    npy_intp shift                 # by how much the first patch begins before the image
    npy_intp count

# A stretch of patches of which one element lies in the image.
cdef struct Stretch:
    npy_intp start
    npy_intp stop
    npy_intp position              # where it lies for the first of them


cdef Grid grid_of(int mode, npy_intp length, npy_intp patch, npy_intp step) noexcept nogil:
    """What follows from numbers that have been checked."""
    cdef Grid grid
    cdef npy_intp reach
    grid.length, grid.patch, grid.step = length, patch, step
    grid.shift = 0 if mode == VALID or mode == IGNORE_BORDERS else patch - 1 if mode == FULL else patch // 2
    if mode == WRAP_CENTERED:
        grid.count = (length + step - 1) // step
    else:
        reach = length + 2 * grid.shift - patch
        grid.count = 0 if reach < 0 else reach // step + 1
    return grid


cdef inline npy_intp first_at(npy_intp place, npy_intp step, npy_intp count) noexcept nogil:
    """The first patch that begins at ``place`` or after."""
    cdef npy_intp first = 0 if place <= 0 else (place + step - 1) // step
    return first if first < count else count


cdef int stretches_of(const Grid* grid, int mode, npy_intp element, Stretch* stretches) noexcept nogil:
    """Where an element of all patches lies; returns how many stretches there are."""
    cdef npy_intp inside = first_at(grid.shift - element, grid.step, grid.count)
    cdef npy_intp after = first_at(grid.length + grid.shift - element, grid.step, grid.count)
    cdef npy_intp begin = element - grid.shift
    cdef int found = 0
    if mode == WRAP_CENTERED and inside:
        stretches[found] = Stretch(0, inside, begin + grid.length)
        found += 1
    if inside < after:
        stretches[found] = Stretch(inside, after, begin + inside * grid.step)
        found += 1
    if mode == WRAP_CENTERED and after < grid.count:
        stretches[found] = Stretch(after, grid.count, begin + after * grid.step - grid.length)
        found += 1
    return found


cdef class NeighboursKernel(Kernel):
    """Base of the two kernels.

    Parameters
    ----------
    mode : {"valid", "half", "full", "wrap_centered", "ignore_borders"}
    """
    cdef int mode

    def __init__(self, str mode):
        self.mode = MODES.index(mode)

    cdef int check_numbers(self, Cell* patch, Cell* step) except -1 nogil:
        cdef int axis
        if patch.shape[0] != 2 or step.shape[0] != 2:
            with gil:
                raise TypeError("neib_shape and neib_step must contain 2 elements, got "
                                f"{patch.shape[0]} and {step.shape[0]}")
        for axis in range(2):
            if integer_at(step, axis) <= 0:
                with gil:
                    raise ValueError("neib_step wrong step ; values <= 0. Got "
                                     f"[{integer_at(step, 0)} {integer_at(step, 1)}]")
            if integer_at(patch, axis) <= 0:
                with gil:
                    raise ValueError(f"neib_shape values <= 0. Got [{integer_at(patch, 0)} {integer_at(patch, 1)}]")
        return 0

    cdef str misfit(self, const Grid* grids):
        """Why patches and images do not fit together, or None."""
        cdef int axis
        for axis in range(2):
            grid = grids[axis]
            sizes = f"neib_shape[{axis}]={grid.patch}, neib_step[{axis}]={grid.step} and " \
                    f"ten4.shape[{axis + 2}]={grid.length} not consistent"
            if self.mode == IGNORE_BORDERS:
                continue
            if self.mode == WRAP_CENTERED:
                if grid.patch % 2 != 1:
                    return "Images2Neibs: in mode wrap_centered need patch with odd shapes, got " \
                           f"{(grids[0].patch, grids[1].patch)}"
                if grid.length < grid.patch:
                    return "Images2Neibs: in wrap_centered mode, don't support image shapes smaller then the patch " \
                           f"shapes: neib_shape=({grids[0].patch},{grids[1].patch}), " \
                           f"ten4[2:]=[{grids[0].length},{grids[1].length}]"
            elif grid.length < grid.patch or (grid.length + 2 * grid.shift - grid.patch) % grid.step:
                return sizes
        return None

    cdef bint fits(self, const Grid* grids) noexcept nogil:
        cdef int axis
        for axis in range(2):
            if self.mode == IGNORE_BORDERS:
                continue
            if grids[axis].length < grids[axis].patch:
                return False
            if self.mode == WRAP_CENTERED:
                if grids[axis].patch % 2 != 1:
                    return False
            elif (grids[axis].length + 2 * grids[axis].shift - grids[axis].patch) % grids[axis].step:
                return False
        return True

    cdef inline void read(self, npy_intp height, npy_intp width, Cell* patch, Cell* step, Grid* grids) noexcept nogil:
        grids[0] = grid_of(self.mode, height, integer_at(patch, 0), integer_at(step, 0))
        grids[1] = grid_of(self.mode, width, integer_at(patch, 1), integer_at(step, 1))


cdef class Images2NeibsKernel(NeighboursKernel):
    """Patches as rows: ``(images, neib_shape, neib_step, out)``.

    Raises
    ------
    TypeError
        Raised by ``prepare`` if patches and images do not fit together.
    ValueError
        Raised by ``prepare`` for sizes or steps that are not positive.
    """

    def __cinit__(self):
        self.examined, self.binding = (1, 2), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* images = operands[0]
        cdef Grid grids[2]
        cdef npy_intp shape[2]
        self.check_numbers(operands[1], operands[2])
        self.read(images.shape[2], images.shape[3], operands[1], operands[2], grids)
        if not self.fits(grids):
            with gil:
                raise TypeError(self.misfit(grids))
        shape[0] = images.shape[0] * images.shape[1] * grids[0].count * grids[1].count
        shape[1] = grids[0].patch * grids[1].patch
        allocate(context, operands[3], shape)
        return RUNS_ALONE if cell_size(operands[3]) * images.itemsize >= LONG_COPY else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* images = operands[0]
        cdef Cell* out = operands[3]
        cdef Grid grids[2]
        self.read(images.shape[2], images.shape[3], operands[1], operands[2], grids)
        if cell_size(out) == 0:
            return 0
        if self.mode == VALID or self.mode == IGNORE_BORDERS:
            self.copy_all(context, images, out, grids)
            return 0
        if self.mode != WRAP_CENTERED:
            clear(context, out.data, cell_size(out) * out.itemsize)
        self.copy_stretches(context, images, out, grids)
        return 0

    cdef inline void copy_all(self, Context* context, Cell* images, Cell* out, const Grid* grids) noexcept nogil:
        """Patches that are inside: a copy by strides of (images, channels, patches, elements of a patch)."""
        cdef npy_intp shape[6]
        cdef npy_intp source[6]
        cdef npy_intp target[6]
        cdef npy_intp stride = out.itemsize
        cdef int axis
        for axis in range(2):
            shape[axis], source[axis] = images.shape[axis], images.strides[axis]
            shape[2 + axis], source[2 + axis] = grids[axis].count, grids[axis].step * images.strides[2 + axis]
            shape[4 + axis], source[4 + axis] = grids[axis].patch, images.strides[2 + axis]
        for axis in range(5, -1, -1):
            target[axis] = stride
            stride *= shape[axis]
        copy_in_parts(context, 6, shape, out.data, target, images.data, source, out.itemsize)

    cdef inline void copy_stretches(self, Context* context, Cell* images, Cell* out,
                                    const Grid* grids) noexcept nogil:
        cdef Stretch rows[3]
        cdef Stretch columns[3]
        cdef npy_intp shape[4]
        cdef npy_intp source[4]
        cdef npy_intp target[4]
        cdef npy_intp i, j, size = grids[0].patch * grids[1].patch * out.itemsize
        cdef int row, column, axis, row_count, column_count
        cdef char* from_image
        cdef char* to_patch
        target[3] = size
        target[2] = target[3] * grids[1].count
        target[1] = target[2] * grids[0].count
        target[0] = target[1] * images.shape[1]
        for axis in range(2):
            shape[axis], source[axis] = images.shape[axis], images.strides[axis]
            source[2 + axis] = grids[axis].step * images.strides[2 + axis]
        for i in range(grids[0].patch):
            row_count = stretches_of(&grids[0], self.mode, i, rows)
            for j in range(grids[1].patch):
                column_count = stretches_of(&grids[1], self.mode, j, columns)
                for row in range(row_count):
                    for column in range(column_count):
                        shape[2] = rows[row].stop - rows[row].start
                        shape[3] = columns[column].stop - columns[column].start
                        from_image = images.data + rows[row].position * images.strides[2] \
                            + columns[column].position * images.strides[3]
                        to_patch = out.data + (i * grids[1].patch + j) * out.itemsize \
                            + rows[row].start * target[2] + columns[column].start * target[3]
                        copy_in_parts(context, 4, shape, to_patch, target, from_image, source, out.itemsize)


cdef class SumNeibsKernel(NeighboursKernel):
    """Images whose elements are the sums of the elements of patches that lie there:
    ``(neibs, neib_shape, neib_step, image_shape, out)``.

    Parameters
    ----------
    mode : str
    dtype : str

    Raises
    ------
    ValueError
        Raised by ``prepare`` if the matrix does not have the shape that patches of such images have.
    """
    cdef InnerLoop loop

    def __cinit__(self):
        self.examined, self.binding = (1, 2, 3), BOUND

    def __init__(self, str mode, str dtype):
        NeighboursKernel.__init__(self, mode)
        self.loop = find_loop(numpy.add, (dtype,) * 3)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* neibs = operands[0]
        cdef Grid grids[2]
        cdef npy_intp shape[4]
        cdef int axis
        self.check_numbers(operands[1], operands[2])
        if operands[3].shape[0] != 4:
            with gil:
                raise ValueError(f"the shape of images has 4 lengths, got {operands[3].shape[0]}")
        for axis in range(4):
            shape[axis] = integer_at(operands[3], axis)
            if shape[axis] < 0:
                with gil:
                    raise ValueError(f"the lengths of images must not be negative, got {shape[axis]}")
        self.read(shape[2], shape[3], operands[1], operands[2], grids)
        if not self.fits(grids):
            with gil:
                raise ValueError(self.misfit(grids))
        if (neibs.shape[0] != shape[0] * shape[1] * grids[0].count * grids[1].count
                or neibs.shape[1] != grids[0].patch * grids[1].patch):
            with gil:
                raise ValueError(
                    f"images of shape {(shape[0], shape[1], shape[2], shape[3])} have "
                    f"{shape[0] * shape[1] * grids[0].count * grids[1].count} neighbourhoods of "
                    f"{grids[0].patch * grids[1].patch} elements, got a matrix of shape {shape_of(neibs)}")
        allocate(context, operands[4], shape)
        return RUNS_ALONE if cell_size(neibs) * neibs.itemsize >= LONG_COPY else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* neibs = operands[0]
        cdef Cell* out = operands[4]
        cdef Grid grids[2]
        cdef Stretch rows[3]
        cdef Stretch columns[3]
        cdef npy_intp i, j, unasked = 0
        cdef int row, column, row_count, column_count
        self.read(out.shape[2], out.shape[3], operands[1], operands[2], grids)
        clear(context, out.data, cell_size(out) * out.itemsize)
        if cell_size(neibs) == 0:
            return 0
        for i in range(grids[0].patch):
            row_count = stretches_of(&grids[0], self.mode, i, rows)
            for j in range(grids[1].patch):
                column_count = stretches_of(&grids[1], self.mode, j, columns)
                for row in range(row_count):
                    for column in range(column_count):
                        if not self.add(context, neibs, out, grids, i * grids[1].patch + j, &rows[row],
                                        &columns[column], &unasked):
                            return 0
        return 0

    cdef inline bint add(self, Context* context, Cell* neibs, Cell* out, const Grid* grids, npy_intp element,
                         const Stretch* rows, const Stretch* columns, npy_intp* unasked) noexcept nogil:
        """Add one element of the patches in two stretches, for all images and channels; return whether the call goes
        on."""
        cdef char* arguments[3]
        cdef npy_intp steps[3]
        cdef npy_intp image, row, count = columns.stop - columns.start
        steps[0] = steps[2] = grids[1].step * out.strides[3]
        steps[1] = neibs.strides[0]
        for image in range(out.shape[0] * out.shape[1]):
            for row in range(rows.start, rows.stop):
                arguments[0] = out.data + image * out.strides[1] + columns.position * out.strides[3] \
                    + (rows.position + (row - rows.start) * grids[0].step) * out.strides[2]
                arguments[1] = neibs.data + element * neibs.strides[1] \
                    + ((image * grids[0].count + row) * grids[1].count + columns.start) * neibs.strides[0]
                arguments[2] = arguments[0]
                self.loop.function(arguments, &count, steps, self.loop.data)
                if ends_after(context, unasked, max(count, 1)):
                    return False
        return True
