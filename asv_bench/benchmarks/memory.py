"""The peak memory of programs, and the memory that is left after functions are compiled and dropped."""
import numpy

import phintys
import phintys.tensor as T

LAYERS, SIZE = 20, 1000


def skip_unless_allowed(allow_gc):
    """Make asv skip a mode that the measured version does not have."""
    try:
        with phintys.config.change_flags(allow_gc=allow_gc):
            pass
    except ValueError:
        raise NotImplementedError from None


class DeepNetwork:
    """Peak of 20 layers tanh(x.W) of 1000 x 1000, forward and with all gradients, in each mode of garbage collection.

    The inputs take 160 MiB of the gradients' peak, and so do the results.
    """

    params = [[True, False, "plan"]]
    param_names = ["allow_gc"]

    def setup(self, allow_gc):
        x = T.dmatrix("x")
        weights = [T.dmatrix() for _ in range(LAYERS)]
        y = x
        for weight in weights:
            y = T.tanh(T.dot(y, weight))
        cost = (y ** 2).sum()
        skip_unless_allowed(allow_gc)
        with phintys.config.change_flags(allow_gc=allow_gc):
            self.forward = phintys.function([x, *weights], cost)
            self.gradients = phintys.function([x, *weights], T.grad(cost, weights))
        random = numpy.random.default_rng(0)
        self.values = [random.standard_normal((SIZE, SIZE)) / SIZE ** 0.5 for _ in range(LAYERS + 1)]

    def peakmem_forward(self, allow_gc):
        self.forward(*self.values)

    def peakmem_gradients(self, allow_gc):
        self.gradients(*self.values)

    def track_bytes_kept_after_trim(self, allow_gc):
        self.gradients(*[numpy.ones((4, 4))] * (LAYERS + 1))         # BLAS allocates at its first use
        before = resident_bytes()
        self.gradients(*self.values)
        phintys.memory.trim()
        return resident_bytes() - before

    track_bytes_kept_after_trim.unit = "bytes"


def resident_bytes():
    """Return the resident size of this process."""
    with open("/proc/self/statm") as statistics:
        return int(statistics.read().split()[1]) * 4096


class DroppedFunctions:
    """Bytes by which the process grows for each function that is compiled, called and dropped; the aim is 0."""

    unit = "bytes per function"
    timeout = 300

    def track_growth_per_function(self):
        def cycle(times):
            for _ in range(times):
                x = T.dscalar()
                phintys.function([x], x + 1)(1.0)

        cycle(500)
        before = resident_bytes()
        cycle(1000)
        return (resident_bytes() - before) / 1000
