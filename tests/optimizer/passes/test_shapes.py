"""Shapes as expressions of the shapes of inputs."""
import numpy

import phintys
import phintys.tensor as T


def test_shapes_of_random_numbers():
    """The state of a stream, an output of the same node, has no shape."""
    stream = phintys.tensor.shared_randomstreams.RandomStreams(1)
    x = T.dmatrix()
    drawn = stream.normal(size=x.shape) + x
    with phintys.change_flags(on_opt_error="raise"):
        f = phintys.function([x], [drawn.shape, drawn[0].shape[0]])
    shape, length = f(numpy.ones((2, 3)))
    assert shape.tolist() == [2, 3] and length == 3
