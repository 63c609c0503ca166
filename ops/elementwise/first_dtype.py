"""Scalar ops whose result keeps the dtype of the first operand, for updates in place, which cannot change a dtype.

``in_first_dtype(add)`` computes like ``add``, in the common dtype, and then casts the result: an int array plus 0.5
stays an int array. Its class is a subclass of ``add``'s class, so that ``isinstance`` checks recognise an addition.
Each scalar op has at most one such counterpart.
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
        A scalar op with one output.
    """

    def __init__(self, plain):
        self.__dict__.update(plain.__dict__)
        self.plain = plain
        self._elementwise = None

    def __reduce__(self):
        return in_first_dtype, (self.plain,)

    def output_dtypes(self, dtypes):
        """The first dtype; raises TypeError if the op refuses the dtypes or the first dtype cannot hold the result."""
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
    """The scalar op that computes like ``scalar_op`` and keeps the first operand's dtype; repeated calls return the
    same object."""
    if scalar_op not in _twins:
        plain = type(scalar_op)
        kind = type(plain.__name__, (FirstDtype, plain), {"__module__": __name__, "__doc__": plain.__doc__})
        _twins[scalar_op] = kind(scalar_op)
    return _twins[scalar_op]
