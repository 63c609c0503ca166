"""Preferences for output types: functions that users pass to ScalarOps as ``output_types_preference``.

Each takes the ``Scalar`` types of the inputs and returns a tuple of the types of the outputs, or raises ``TypeError``
for types that it refuses. They apply the dtype rules of the table of ops (``scalar_op.py``) to types. Preferences
with parameters are equal when their parameters are equal, and all can be pickled.
"""
from phintys.graph.properties import Properties
from phintys.graph.public_names import at_home
from phintys.ops.elementwise import scalar_op as rules
from phintys.ops.types.dtypes import complex_dtypes
from phintys.ops.types.scalar_type import get_scalar_type

__all__ = ["float_out", "float_out_nocomplex", "int_out", "int_out_nocomplex", "real_out", "same_out",
           "same_out_float_only", "same_out_min8", "same_out_nobool", "same_out_nocomplex", "specific_out",
           "transfer_type", "unary_out_lookup", "upcast_out", "upcast_out_min8", "upcast_out_no_complex",
           "upcast_out_nobool", "upgrade_to_float", "upgrade_to_float64", "upgrade_to_float_no_complex"]


def _preference(name, rule):
    """The preference that returns one type, of the dtype given by ``rule``."""
    def preference(*types):
        return (get_scalar_type(rule(*[type_.dtype for type_ in types])),)

    preference.__name__ = preference.__qualname__ = name
    preference.__doc__ = (f"{rule.__doc__}\n\nExamples\n--------\n>>> phintys.scalar.{name}(phintys.scalar.float32)\n"
                          f"{preference(get_scalar_type('float32'))}")
    return at_home(preference)


def _float64(*dtypes):
    """Always float64."""
    return "float64"


def _int64(*dtypes):
    """Always int64."""
    return "int64"


def _int64_of_real(*dtypes):
    """Always int64, from real operands."""
    rules.refuse(dtypes, complex_dtypes, "complex arguments are not supported")
    return "int64"


def _same_real(dtype):
    """The operand's dtype, which may not be complex."""
    rules.refuse((dtype,), complex_dtypes, "complex arguments are not supported")
    return dtype


upcast_out = _preference("upcast_out", rules.upcast_out)
upcast_out_nobool = _preference("upcast_out_nobool", rules.upcast_out_no_bool)
upcast_out_min8 = _preference("upcast_out_min8", rules.upcast_out_min8)
upcast_out_no_complex = _preference("upcast_out_no_complex", rules.upcast_out_no_complex)
upgrade_to_float = _preference("upgrade_to_float", rules.upgrade_to_float)
upgrade_to_float_no_complex = _preference("upgrade_to_float_no_complex", rules.upgrade_to_float_no_complex)
upgrade_to_float64 = _preference("upgrade_to_float64", _float64)
same_out = _preference("same_out", rules.same_out)
same_out_nobool = _preference("same_out_nobool", rules.same_out_no_bool)
same_out_min8 = _preference("same_out_min8", rules.same_out_min8)
same_out_nocomplex = _preference("same_out_nocomplex", _same_real)
same_out_float_only = _preference("same_out_float_only", rules.same_out_float_only)
real_out = _preference("real_out", rules.real_out)
int_out = _preference("int_out", _int64)
int_out_nocomplex = _preference("int_out_nocomplex", _int64_of_real)
float_out = _preference("float_out", _float64)
float_out_nocomplex = _preference("float_out_nocomplex", rules.float64_out)


class transfer_type(Properties):
    """Each output has the type of an input, a fixed dtype, or the common type.

    Parameters
    ----------
    *transfer : int, str or None
        For each output: the position of the input whose type it has, a dtype, or None for the common type of all
        inputs.

    Examples
    --------
    >>> phintys.scalar.transfer_type(1)(phintys.scalar.int32, phintys.scalar.float32)
    (Scalar(float32),)
    """

    __props__ = ("transfer",)

    def __init__(self, *transfer):
        self.transfer = transfer

    def __call__(self, *types):
        return tuple([upcast_out(*types)[0] if where is None else get_scalar_type(where) if isinstance(where, str)
                      else types[where] for where in self.transfer])


class specific_out(Properties):
    """Fixed types, independent of the inputs.

    Parameters
    ----------
    *spec : Scalar

    Examples
    --------
    >>> phintys.scalar.specific_out(phintys.scalar.float64)(phintys.scalar.int32)
    (Scalar(float64),)
    """

    __props__ = ("spec",)

    def __init__(self, *spec):
        self.spec = spec

    def __call__(self, *types):
        return self.spec


class unary_out_lookup(Properties):
    """Looks up the output type in a table, by the type of the input or the tuple of the types of several inputs.

    Parameters
    ----------
    type_table : dict

    Examples
    --------
    >>> table = {phintys.scalar.int32: phintys.scalar.float64}
    >>> phintys.scalar.unary_out_lookup(table)(phintys.scalar.int32)
    (Scalar(float64),)
    """

    __props__ = ("tbl",)

    def __init__(self, type_table):
        self.tbl = type_table

    def __hash__(self):
        return hash(type(self))

    def __call__(self, *types):
        key = types[0] if len(types) == 1 else types
        if key not in self.tbl:
            raise TypeError(f"no output type is known for {key}")
        return (self.tbl[key],) if len(types) == 1 else self.tbl[key]
