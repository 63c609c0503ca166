"""Scalar ops whose result keeps the dtype of the first operand: what overwrites an array cannot change its dtype.

``in_first_dtype(add)`` computes as ``add`` does, in the common dtype, and then casts: an int array plus 0.5 stays an
int array. Its class is one of ``add``'s, so whoever asks what a node computes finds an addition. There is one for each
scalar op.
"""
from phintys.graph.public_names import at_home
from phintys.ops.elementwise.scalar_op import LoopedScalarOp
from phintys.ops.types.dtypes import complex_dtypes

_twins = {}                  # scalar op → the one that keeps the first dtype


class FirstDtype(LoopedScalarOp):
    """Mixin: the same operation, cast to the dtype of the first operand.

    Parameters
    ----------
    plain : LoopedScalarOp
        Of one output.
    """

    def __init__(self, plain):
        self.__dict__.update(plain.__dict__)
        self.plain = plain
        self._elementwise = None

    def __reduce__(self):
        return in_first_dtype, (self.plain,)

    def output_dtypes(self, dtypes):
        """The first dtype; TypeError where the operation refuses the dtypes, or computes what is no number of it."""
        natural, = self.plain.output_dtypes(dtypes)
        if natural in complex_dtypes and dtypes[0] not in complex_dtypes:
            raise TypeError(f"{self.name}({', '.join(dtypes)}): the result is {natural}, and {dtypes[0]} cannot hold "
                            "it")
        return (dtypes[0],)

    def emit(self, steps, output_dtypes, slots):
        natural = self.plain.output_dtypes(tuple([steps.dtypes[slot] for slot in slots]))
        result, = self.plain.emit(steps, natural, slots)
        return [steps.cast(result, output_dtypes[0])]


@at_home
def in_first_dtype(scalar_op):
    """The scalar op that computes as ``scalar_op`` and keeps the dtype of its first operand; always the same one."""
    if scalar_op not in _twins:
        plain = type(scalar_op)
        kind = type(plain.__name__, (FirstDtype, plain), {"__module__": __name__, "__doc__": plain.__doc__})
        _twins[scalar_op] = kind(scalar_op)
    return _twins[scalar_op]
