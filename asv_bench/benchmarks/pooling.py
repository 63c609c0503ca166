"""Pooling of images by maxima, its gradient, and dropout: a call each."""
import numpy

import phintys
import phintys.tensor as T
from phintys.tensor.signal.pool import MaxPoolGrad, pool_2d


class Pooling:
    params = [[(32, 64, 32, 32), (32, 16, 8, 8)], [2, 3]]
    param_names = ["images", "window"]

    def setup(self, shape, window):
        images, gradient = T.ftensor4(), T.ftensor4()
        windows = {"ws": (window, window), "stride": (2, 2)}
        pooled = pool_2d(images, ignore_border=True, **windows)
        backward = MaxPoolGrad(True)(images, pooled, gradient, **windows)
        self.images = numpy.random.default_rng(0).random(shape, dtype="float32")
        self.forward = phintys.function([images], phintys.Out(pooled, borrow=True))
        self.both = phintys.function([images, gradient], phintys.Out(backward, borrow=True))
        self.gradient = self.forward(self.images).copy()

    def time_forward(self, shape, window):
        self.forward(self.images)

    def time_forward_and_gradient(self, shape, window):
        self.both(self.images, self.gradient)


class Dropout:
    params = [["float32", "float64"]]
    param_names = ["dtype"]

    def setup(self, dtype):
        layer = T.matrix(dtype=dtype)
        numbers = phintys.random.default_rng(1).random(layer.shape, dtype=dtype, ndim=2)
        dropped = layer * T.cast(numbers >= 0.5, dtype) / numpy.asarray(0.5, dtype)
        self.dropped = phintys.function([layer], phintys.Out(dropped, borrow=True))
        self.layer = numpy.ones((60, 500), dtype)

    def time_layer(self, dtype):
        self.dropped(self.layer)


class ManyImagesGradient:
    """The gradient alone, where windows overlap: it reads the images, as maxima may be equal."""

    params = [[(16, 32, 32, 32), (1, 64, 112, 112), (32, 64, 8, 8)], [0, 1]]
    param_names = ["images", "padding"]

    def setup(self, shape, padding):
        windows = {"ws": (3, 3), "stride": (2, 2), "pad": (padding, padding)}
        images, maxima, gradient = T.ftensor4(), T.ftensor4(), T.ftensor4()
        self.images = numpy.random.default_rng(0).random(shape, dtype="float32")
        self.maxima = phintys.function([images], pool_2d(images, ignore_border=True, **windows))(self.images)
        self.backward = phintys.function([images, maxima, gradient], phintys.Out(
            MaxPoolGrad(True)(images, maxima, gradient, **windows), borrow=True))

    def time_gradient(self, shape, padding):
        self.backward(self.images, self.maxima, self.maxima)
