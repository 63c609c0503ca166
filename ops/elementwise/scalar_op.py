"""LoopedScalarOp: a ScalarOp that has inner loops and therefore runs as part of elementwise kernels.

Each one is a row of the table in ``scalar.py``: the number of inputs, the rule for the dtype of the result, the inner
loops, and the gradient as a formula of scalar ops. The ops that users write are in ``scalar_protocol.py``.

Every row is the only instance of its class; two rows are equal only if they are identical, and a row is pickled by
its name.
"""
import numpy

from phintys.graph.config import config
from phintys.graph.public_names import at_home
from phintys.ops.elementwise.help_text import HelpText, scalar_help_text
from phintys.ops.elementwise.scalar_protocol import BinaryScalarOp, ScalarOp, UnaryScalarOp
from phintys.ops.types.dtypes import REAL_PART, complex_dtypes, discrete_dtypes, float_dtypes, integer_dtypes, upcast
from phintys.ops.types.scalar_type import get_scalar_type

SCALAR_OPS = {}      # name → LoopedScalarOp

# Intervals in which operands have results, and slopes: what a row's ``domain`` names.
ANY, POSITIVE, UNIT, ABOVE_ONE = (-2.9, 3.1), (0.2, 3.1), (-0.9, 0.9), (1.1, 3.1)


# ---- dtype rules: each takes the dtypes of the inputs and returns the dtype of the result ----------------------
def refuse(dtypes, families, message):
    """Raise TypeError if one of ``dtypes`` is in ``families``."""
    for dtype in dtypes:
        if dtype in families:
            raise TypeError(f"{message}, got {dtype}")


def upcast_out(*dtypes):
    """The common dtype."""
    return upcast(*dtypes)


def upcast_out_no_bool(*dtypes):
    """The common dtype, which may not be bool."""
    result = upcast(*dtypes)
    if result == "bool":
        raise TypeError("bool output not supported: cast to an integer dtype first, or use logical operations")
    return result


def upcast_out_min8(*dtypes):
    """The common dtype, at least int8."""
    result = upcast(*dtypes)
    return "int8" if result == "bool" else result


def upcast_out_no_complex(*dtypes):
    """The common dtype of real operands."""
    refuse(dtypes, complex_dtypes, "complex types are not supported")
    return upcast(*dtypes)


FLOAT_FOR_DISCRETE = dict.fromkeys(("bool", "int8", "int16", "uint8", "uint16"), "float32")
FLOAT_FOR_DISCRETE.update(dict.fromkeys(("int32", "int64", "uint32", "uint64"), "float64"))


def upgrade_to_float(*dtypes):
    """The common dtype, where a discrete dtype counts as the float dtype that holds its values."""
    return upcast(*[FLOAT_FOR_DISCRETE.get(dtype, dtype) for dtype in dtypes])


def upgrade_to_float_no_complex(*dtypes):
    """The common dtype of real operands, where a discrete dtype counts as the float dtype that holds its values."""
    refuse(dtypes, complex_dtypes, "complex arguments are not supported")
    return upgrade_to_float(*dtypes)


def float64_out(*dtypes):
    """Always float64, from real operands."""
    refuse(dtypes, complex_dtypes, "complex arguments are not supported")
    return "float64"


def angle_out(*dtypes):
    """Always float64, from any operand."""
    return "float64"


def bool_out(*dtypes):
    """Always bool."""
    return "bool"


def in_range_out(*dtypes):
    """Always bool, from real operands."""
    refuse(dtypes, complex_dtypes, "complex numbers have no order")
    return "bool"


def same_out_min8(dtype):
    """The operand's dtype, at least int8."""
    return "int8" if dtype == "bool" else dtype


def same_out(dtype):
    """The operand's dtype."""
    return dtype


def same_out_no_bool(dtype):
    """The operand's dtype, which may not be bool."""
    refuse((dtype,), ("bool",), "bool input not supported")
    return dtype


def sign_out(dtype):
    """The operand's dtype; neither bool nor complex."""
    refuse((dtype,), complex_dtypes, "complex numbers have no sign")
    return same_out_no_bool(dtype)


def same_out_float_only(dtype):
    """The operand's dtype, which must be a real float."""
    if dtype not in float_dtypes:
        raise TypeError(f"only float types are supported, got {dtype}")
    return dtype


def real_out(dtype):
    """The dtype of the operand's real part."""
    return REAL_PART.get(dtype, dtype)


def second_out(first, second):
    """The second operand's dtype."""
    return second


def switch_out(condition, if_true, if_false):
    """The common dtype of the two values."""
    return upcast(if_true, if_false)


def true_div_out(*dtypes):
    """floatX for discrete operands, else the common dtype."""
    if all(dtype in discrete_dtypes for dtype in dtypes):
        return config.floatX
    return upcast(*dtypes)


def bits_out(*dtypes):
    """The common dtype of integers, or bool if all operands are bools."""
    if all(dtype == "bool" for dtype in dtypes):
        return "bool"
    for dtype in dtypes:
        if dtype not in integer_dtypes:
            raise TypeError("input to a BitOp must have type (u)int8, (u)int16, (u)int32 or (u)int64 or be all bools "
                            f"not {dtype}")
    common = upcast(*dtypes)
    if common not in integer_dtypes:
        raise TypeError("no integer dtype holds the values of both: cast one operand first")
    return common


def integers_out(*dtypes):
    """The common dtype of integers, among which a bool counts as int8."""
    return bits_out(*["int8" if dtype == "bool" else dtype for dtype in dtypes])


def integers_out_no_bool(*dtypes):
    """The common dtype of integers, none of which may be bool."""
    refuse(dtypes, ("bool",), "bool input not supported")
    return bits_out(*dtypes)


def count_out(dtype):
    """uint8, which holds the number of bits of any integer."""
    integers_out(dtype)
    return "uint8"


def min8_out_no_complex(*dtypes):
    """The common dtype of real operands, at least int8."""
    refuse(dtypes, complex_dtypes, "complex types are not supported")
    return upcast_out_min8(*dtypes)


def scaled_out(number, exponent):
    """The float dtype of the first operand, if the second is an integer, as it should be."""
    return upgrade_to_float_no_complex(number, *[exponent] * (exponent not in discrete_dtypes))


def complex_out(*dtypes):
    """The complex dtype whose parts hold the real operands."""
    refuse(dtypes, complex_dtypes, "complex numbers are made of real parts")
    wide = upcast(*dtypes) in ("float64", "int64", "uint64", "int32", "uint32")
    return "complex128" if wide else "complex64"


# ---- the op ----------------------------------------------------------------------------------------------------
class LoopedScalarOp(ScalarOp):
    """One elementwise operation with inner loops.

    Attributes
    ----------
    name : str
        Theano's name of the op.
    nin : int
        Number of inputs; -1 means one or more.
    nout : int
    output_rule : callable
        Takes the dtypes of the inputs and returns the dtype of the result; raises ``TypeError`` for unsupported ones.
    loop : str or callable
        The name of an inner loop, or a function ``(steps, output_dtype, *slots) -> slot`` that emits several; see
        ``scalar_code.py``.
    operands : str
        The dtype to which operands are cast before ``loop``: ``"output"`` is the dtype of the output, ``"common"``
        their common dtype, and ``"float"`` the dtype of the output, but float64 if all operands are discrete.
    gradient : callable, tuple of callable, or None
        Takes ``(*inputs, output, output_gradient)`` and returns the gradient, or a tuple of one gradient per input;
        None in the tuple where there is no formula. Of a tuple, each gives the gradient for one input, and those that
        nothing reads are not called.
    choices : callable or None
        For an op whose results are elements of its operands: takes ``(*inputs, output, output_gradient)`` and returns
        for each input ``(condition, holds)``: its element is the result where the condition holds (or, with False, does
        not hold). None for an input whose elements never are. The gradient follows from it.
    lasts : bool
        Whether such a choice lasts in gradients; see ``Mask``.
    complex_rule : {None, 'holomorphic', 'real_slope', 'transposed'}
        The meaning of the formula for complex operands; see ``complex_derivatives.py``. ``'holomorphic'``: the slope
        in the formula is also the complex derivative.
    connected : tuple of bool or None
        For each input, whether the values of the output depend on it; None means all of them.
    commutative, associative : bool
    identity : number or None
        The neutral element.
    symbol : str or None
        The infix notation of the op.
    public : str or None
        The name of its Elemwise in ``phintys.tensor``, dotted if a submodule has it; None if only rewrites make it.
        ``define`` takes the row's own name if nothing is said.
    summary : str or None
        A sentence for ``help``; the parameter ``doc``.
    domain : tuple
        An interval for all operands, or one for each, in which the op is defined and has a slope if it has one
        anywhere. Tests draw operands from it.
    example : tuple or None
        The operands of the example in the help text, numbers or lists of them; None for numbers from ``domain``.
    """

    __doc__ = HelpText(__doc__, scalar_help_text)

    def __init__(self, name, nin, output_rule, loop, gradient=None, *, choices=None, lasts=False,
                 operands="output", complex_rule=None, connected=None, commutative=False, associative=False,
                 identity=None, symbol=None, public=None, domain=ANY, doc=None, example=None):
        self.name = name
        self.nin = nin
        self.output_rule = output_rule
        self.loop = loop
        self.gradient = gradient
        self.choices, self.lasts = choices, lasts
        self.operands = operands
        self.complex_rule = complex_rule
        self.connected = connected
        self.commutative = commutative
        self.associative = associative
        self.identity = identity
        self.symbol = symbol
        self.public = public
        self.domain = domain
        self.example = example
        self.summary = doc
        self._elementwise = None

    cannot_fail = reads_before_writing = True       # properties of the kernel

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __reduce__(self):
        return scalar_op_named, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    @property
    def elementwise(self):
        """The Elemwise of this op; always the same object."""
        if self._elementwise is None:
            self._elementwise = self.elementwise_class(self, name=self._elementwise_name())
        return self._elementwise

    def _elementwise_name(self):
        return f"Elemwise{{{self.name},no_inplace}}"

    # ---- a node on numbers: works like an Elemwise on tensors of rank 0 ---------------------------------------
    def make_kernel(self, node):
        """The kernel of the Elemwise."""
        return self.elementwise.make_kernel(node)

    def lower(self, emitter, node):
        """Emit the code that the Elemwise would emit."""
        self.elementwise.lower(emitter, node)

    def perform(self, node, inputs, output_storage, params=None):
        """Run the kernel; results are NumPy numbers."""
        self.elementwise.perform(node, inputs, output_storage)
        for storage in output_storage:
            storage[0] = storage[0][()]

    def impl(self, *values):
        """The result for numbers, each in the dtype that NumPy gives it; a tuple if there are several results.

        Parameters
        ----------
        *values : number or 0-d array

        Returns
        -------
        numpy scalar, or tuple of them

        Raises
        ------
        TypeError
            If their number or one of their dtypes does not fit.
        """
        arrays = [numpy.asarray(value) for value in values]
        node = self.make_node(*[get_scalar_type(array.dtype.name).make_variable() for array in arrays])
        storage = [[None] for _ in node.outputs]
        self.perform(node, arrays, storage)
        results = tuple([result for result, in storage])
        return results if len(results) > 1 else results[0]

    # ---- the interface to Elemwise -----------------------------------------------------------------------------

    def output_types(self, types):
        """The types of the results for operands of ``types``."""
        return tuple([get_scalar_type(dtype) for dtype in self.output_dtypes(tuple([type_.dtype for type_ in types]))])

    def output_dtypes(self, dtypes):
        """The dtypes of the results for operands of ``dtypes``.

        Raises
        ------
        TypeError
            If the number of operands or one of their dtypes does not fit.
        """
        self.check_count(dtypes)
        try:
            return (self.output_rule(*dtypes),)
        except TypeError as error:
            raise TypeError(f"{self.name}({', '.join(dtypes)}): {error}") from None

    def emit(self, steps, output_dtypes, slots):
        """Append the loops of this op to ``steps``; returns the slots of the results."""
        output_dtype = output_dtypes[0]
        if self.operands == "output":
            slots = [steps.cast(slot, output_dtype) for slot in slots]
        elif self.operands == "float":
            discrete = all(steps.dtypes[slot] in discrete_dtypes for slot in slots)
            slots = [steps.cast(slot, "float64" if discrete else output_dtype) for slot in slots]
        if type(self.loop) is str:
            result = slots[0]
            if self.nin == -1:
                for slot in slots[1:]:
                    result = steps.apply(self.loop, result, slot)
            else:
                result = steps.apply(self.loop, *slots)
        else:
            result = self.loop(steps, output_dtype, *slots)
        return [steps.cast(result, output_dtype)]

    def gradients(self, inputs, outputs, output_gradients, wanted=None):
        """The gradient for each input, not yet summed over broadcast dimensions; None where there is no formula, or
        where none is ``wanted``, if the formula is one for each input."""
        if self.gradient is None:
            return [None] * len(inputs)
        if type(self.gradient) is tuple:
            return [formula(*inputs, outputs[0], output_gradients[0]) if wanted is None or wanted[position] else None
                    for position, formula in enumerate(self.gradient)]
        if wanted is not None and getattr(self.gradient, "takes_wanted", False):
            return self.gradient(*inputs, outputs[0], output_gradients[0], wanted=wanted)
        gradients = self.gradient(*inputs, outputs[0], output_gradients[0])
        return list(gradients) if isinstance(gradients, (tuple, list)) else [gradients]

    def grad(self, inputs, output_gradients):
        """The gradients with respect to the inputs, for use in the gradients of users' ops."""
        return self.L_op(inputs, self(*inputs, return_list=True), output_gradients)

    def L_op(self, inputs, outputs, output_gradients):
        """Like ``grad``, given the outputs."""
        return self.elementwise.L_op(inputs, outputs, output_gradients)


BASES = {1: UnaryScalarOp, 2: BinaryScalarOp}


@at_home
def scalar_op_named(name):
    """The ScalarOp of that name; called when a scalar op is unpickled.

    Examples
    --------
    >>> phintys.scalar.scalar_op_named("exp") is phintys.scalar.exp
    True
    """
    return SCALAR_OPS[name]


def _refuse_instances(self, *arguments, **options):
    raise TypeError(f"{type(self).__name__} cannot be instantiated: its only instance is the built-in scalar op. "
                    f"Define a new operation as a subclass of UnaryScalarOp, BinaryScalarOp or ScalarOp.")


def define(class_name, name, nin, *arguments, base=None, **options):
    """Make a row of the table: a LoopedScalarOp that is the only instance of a class called ``class_name``."""
    parent = base or BASES.get(nin, ScalarOp)
    options.setdefault("public", name)
    kind = type(class_name, (LoopedScalarOp, parent),
                {"__module__": "phintys.scalar", "__doc__": HelpText(None, scalar_help_text)})
    SCALAR_OPS[name] = kind.__dict__["__doc__"].only_instance = row = kind(name, nin, *arguments, **options)
    kind.__init__ = _refuse_instances
    return row
