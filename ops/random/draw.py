"""Draw: samples of a distribution of ``numpy.random.Generator``, and the state after them.

``DISTRIBUTIONS`` is the table of all distributions. Distributions with a location and a scale are drawn with location 0
and scale 1: the op only checks these parameters. The code that makes the node adds ``location + scale * sample``, as
NumPy computes it, which has a gradient.
"""
from collections import namedtuple

from phintys.graph.apply import Apply
from phintys.ops.elementwise.elementwise_functions import cast
from phintys.ops.random.draw_kernel import DrawKernel
from phintys.ops.random.generator_states import KINDS, WORDS
from phintys.ops.random.sampling import Sampling, sample_shape, sample_type, size_vector
from phintys.ops.types.constant import as_tensor_variable

# parameters: pairs (name, condition), see the kernel's RULES; dtypes: of the samples, the first one is the default;
# integers: the parameters that are int64 (others are float64); standard: it is drawn with location 0 and scale 1.
Distribution = namedtuple("Distribution", "parameters dtypes integers standard", defaults=(("float64",), (), False))
REAL, COUNT = ("float64",), ("int64",)
BOTH = ("float64", "float32")
POSITIVE, FREE, SCALE = "above 0", "any", "at least 0"

DISTRIBUTIONS = {
    "random": Distribution((("high - low", SCALE),), BOTH, standard=True),
    "normal": Distribution((("loc", FREE), ("scale", SCALE)), BOTH, standard=True),
    "exponential": Distribution((("scale", SCALE),), BOTH, standard=True),
    "gamma": Distribution((("shape", SCALE), ("scale", SCALE)), BOTH),
    "standard_cauchy": Distribution(()),
    "laplace": Distribution((("loc", FREE), ("scale", SCALE)), standard=True),
    "gumbel": Distribution((("loc", FREE), ("scale", SCALE)), standard=True),
    "logistic": Distribution((("loc", FREE), ("scale", SCALE)), standard=True),
    "rayleigh": Distribution((("scale", SCALE),), standard=True),
    "chisquare": Distribution((("df", POSITIVE),)),
    "pareto": Distribution((("a", POSITIVE),)),
    "power": Distribution((("a", POSITIVE),)),
    "standard_t": Distribution((("df", POSITIVE),)),
    "weibull": Distribution((("a", SCALE),)),
    "beta": Distribution((("a", POSITIVE), ("b", POSITIVE))),
    "f": Distribution((("dfnum", POSITIVE), ("dfden", POSITIVE))),
    "lognormal": Distribution((("mean", FREE), ("sigma", SCALE))),
    "noncentral_chisquare": Distribution((("df", POSITIVE), ("nonc", SCALE))),
    "vonmises": Distribution((("mu", FREE), ("kappa", SCALE))),
    "wald": Distribution((("mean", POSITIVE), ("scale", POSITIVE))),
    "triangular": Distribution((("left", FREE), ("mode", FREE), ("right", FREE), ("left <= mode", "true"),
                                ("mode <= right", "true"), ("left < right", "true")), integers=(3, 4, 5)),
    "noncentral_f": Distribution((("dfnum", POSITIVE), ("dfden", POSITIVE), ("nonc", SCALE))),
    "geometric": Distribution((("p", "above 0 and at most 1"),), COUNT),
    "logseries": Distribution((("p", "at least 0 and below 1"),), COUNT),
    "poisson": Distribution((("lam", "at least 0 and at most 9.22e18"),), COUNT),
    "zipf": Distribution((("a", "above 1"),), COUNT),
    "negative_binomial": Distribution((("n", POSITIVE), ("p", "above 0 and at most 1")), COUNT),
    "binomial": Distribution((("n", SCALE), ("p", "from 0 to 1")), COUNT, (0,)),
    "hypergeometric": Distribution((("ngood", "from 0 to 999,999,999"), ("nbad", "from 0 to 999,999,999"),
                                    ("nsample", SCALE), ("nsample <= ngood + nbad", "true")), COUNT, (0, 1, 2, 3)),
    "integers": Distribution((("low", FREE), ("high", FREE), ("low <= high", "true")), COUNT, (0, 1, 2)),
}


class Draw(Sampling):
    """Samples of a distribution. The inputs are the state, the size and the parameters, the outputs the new state and
    the samples.

    Parameters
    ----------
    name : str
        A key of ``DISTRIBUTIONS``.
    kind : str
        The kind of the bit generator, one of ``KINDS``.
    dtype : str
    ndim : int
        Of the samples.
    inplace : bool
        The new state overwrites the old one.
    rules : tuple of (str, str), optional
        Names and conditions of the parameters, instead of those in the table. There may be more parameters than the
        distribution has, which are only checked.
    """

    __props__ = ("name", "kind", "dtype", "ndim", "inplace", "rules")
    can_overwrite = {0: (0,)}
    runs_alone = True

    def __init__(self, name, kind, dtype, ndim, inplace=False, rules=None):
        dtypes = DISTRIBUTIONS[name].dtypes
        if dtype not in dtypes:
            raise TypeError(f"{name} draws {' or '.join(dtypes)}, not {dtype}")
        self.name, self.kind, self.dtype, self.ndim, self.inplace = name, kind, dtype, int(ndim), bool(inplace)
        self.rules = DISTRIBUTIONS[name].parameters if rules is None else rules
        if inplace:
            self.destroy_map = {0: [0]}

    @property
    def depends(self):
        """Whether the numbers depend on parameters."""
        return not DISTRIBUTIONS[self.name].standard

    def __str__(self):
        return f"Draw{{{self.name}, {self.kind}}}"

    def make_node(self, state, size, *parameters):
        state, (size, known) = self.as_state(state), size_vector(size)
        distribution = DISTRIBUTIONS[self.name]
        if len(parameters) not in (0, len(self.rules)):
            raise TypeError(f"{self.name} has {len(self.rules)} parameters, got {len(parameters)}")
        wanted = ["int64" if position in distribution.integers else "float64" for position in range(len(parameters))]
        parameters = [cast(as_tensor_variable(parameter), dtype) for parameter, dtype in zip(parameters, wanted)]
        return Apply(self, [state, size, *parameters],
                     [state.type(), sample_type(self.dtype, self.ndim, known)()])

    def make_kernel(self, node):
        return DrawKernel(self.name, KINDS.index(self.kind), self.rules[:len(node.inputs) - 2])

    def infer_shape(self, node, input_shapes):
        return [(WORDS[self.kind],), sample_shape(node.inputs[1], self.ndim)]
