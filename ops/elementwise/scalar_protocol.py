"""ScalarOp: one operation on single numbers, as users write it for Theano: a class with ``impl``, types and a gradient.

Called with variables of ``Scalar`` types, a ScalarOp makes a node of a graph on numbers; called with tensors, it
applies its ``Elemwise``. Users' ScalarOps run as Python, once per element (``impl_elementwise.py``); the built-in
operations are ScalarOps with inner loops (``scalar_op.py``).

Two ScalarOps are equal under Theano's conditions: the same class, and the same ``__props__`` if there are any, else
the same preference for output types.
"""
from importlib import import_module

import numpy

from phintys.graph.apply import Apply
from phintys.graph.errors import MethodNotDefined
from phintys.graph.op import Op
from phintys.graph.variable import Variable
from phintys.ops.types.as_scalar import as_scalar
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import uint_dtypes
from phintys.ops.types.scalar_type import Scalar, get_scalar_type


def _means_tensors(inputs):
    """Whether the operands contain variables or arrays, but no variable of a ``Scalar`` type."""
    found = False
    for x in inputs:
        if isinstance(x, Variable):
            if x.type.is_number:
                return False
            found = True
        elif isinstance(x, (list, tuple)) or getattr(x, "ndim", 0):
            found = True
    return found


def numbers_beside_uint64(given, dtypes):
    """Operands in which Python's integers are uint64 beside unsigned ones, as for NumPy; None if nothing changes.

    By themselves they are int8 or wider, and no integer dtype has all values of int8 and uint64.
    """
    numbers = [value for value in given if type(value) is int]
    others = [dtype for value, dtype in zip(given, dtypes) if type(value) is not int]
    if not numbers or min(numbers) < 0 or "uint64" not in others or not uint_dtypes.issuperset(others):
        return None
    return [numpy.uint64(value) if type(value) is int else value for value in given]


class ScalarOp(Op):
    """One operation on single numbers.

    Subclasses define ``impl``, and ``grad`` or ``L_op`` if there is a gradient. Their C code, if any, is ignored.

    Parameters
    ----------
    output_types_preference : callable, optional
        Takes the types of the inputs as positional arguments and returns a tuple of the types of the outputs. These
        are types of numbers, such as ``phintys.scalar.float64``. If it is omitted, the class needs a method of that
        name, or ``output_types``.
    name : str, optional
        For printing.

    Attributes
    ----------
    nin : int
        Number of inputs; -1 means one or more.
    nout : int
    nfunc_spec : tuple or None
        ``(name, nin, nout)`` of a NumPy function, or of ``package.module.function``, that computes the result if the
        class does not define ``impl``.

    Raises
    ------
    TypeError
        If ``output_types_preference`` is not callable.

    Examples
    --------
    >>> isinstance(phintys.scalar.exp, phintys.scalar.ScalarOp)
    True
    """

    nin = -1
    nout = 1
    name = None
    nfunc_spec = None
    connected = None                  # for each input, whether the output depends on it; None: all
    choices = None                    # see LoopedScalarOp
    complex_rule = gradient = None    # only rows of the table have these, see complex_derivatives.py
    commutative = associative = False
    identity = symbol = None
    steps = None                      # of a Composite: the flat list it is made of
    elementwise_class = None          # set by impl_elementwise.py, which imports this file

    def __init__(self, output_types_preference=None, name=None):
        if output_types_preference is not None:
            if not callable(output_types_preference):
                raise TypeError(f"Expected a callable for the 'output_types_preference' argument to {type(self)}. "
                                f"(got: {output_types_preference})")
            self.output_types_preference = output_types_preference
        self.name = name

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and self._preference() == other._preference())

    def __hash__(self):
        return hash((type(self), self._preference()))

    def _preference(self):
        """The preference given to this op; None if the preference is a method of the class."""
        return self.__dict__.get("output_types_preference")

    def __str__(self):
        return self.name or type(self).__name__

    @property
    def elementwise(self):
        """The Elemwise of this op."""
        return self.elementwise_class(self)

    def __call__(self, *inputs, **options):
        """Make a node and return its outputs; if operands are tensors, a node of the Elemwise of this op."""
        if _means_tensors(inputs):
            return self.elementwise(*inputs, **options)
        return super().__call__(*inputs, **options)

    def make_node(self, *inputs):
        """A node on single numbers.

        Parameters
        ----------
        *inputs : Variable or number
            See ``as_scalar``.

        Raises
        ------
        TypeError
            If an input is not a single number, or the op refuses their number or dtypes.
        """
        self.check_count(inputs)
        given, inputs = inputs, [as_scalar(x) for x in inputs]
        try:
            dtypes = self.output_dtypes(tuple([x.type.dtype for x in inputs]))
        except TypeError:
            given = numbers_beside_uint64(given, [x.type.dtype for x in inputs])
            if given is None:
                raise
            return self.make_node(*given)
        return Apply(self, inputs, [get_scalar_type(dtype).make_variable() for dtype in dtypes])

    # ---- a node on numbers -------------------------------------------------------------------------------------
    def perform(self, node, inputs, output_storage, params=None):
        """Call ``impl`` with NumPy numbers and cast the results to the dtypes of the outputs."""
        results = self.impl(*inputs)
        for storage, result, variable in zip(output_storage, results if self.nout > 1 else [results], node.outputs):
            storage[0] = numpy.asarray(result, dtype=variable.type.dtype)[()]

    def connection_pattern(self, node):
        connected = self.connected or (True,) * len(node.inputs)
        return [[flag] * len(node.outputs) for flag in connected]

    def R_op(self, inputs, eval_points):
        """Derivatives along ``eval_points``, computed by the Elemwise on tensors of rank 0."""
        tensors = [as_tensor_variable(x) for x in inputs]
        points = [None if point is None else as_tensor_variable(point) for point in eval_points]
        return [None if moved is None else as_scalar(moved) for moved in self.elementwise.R_op(tensors, points)]

    # ---- methods that subclasses define ------------------------------------------------------------------------
    def output_types(self, types):
        """The types of the outputs for inputs of ``types``, by ``output_types_preference``.

        Raises
        ------
        NotImplementedError
            If there is no preference.
        TypeError
            If the preference returns anything other than Scalar types.
        """
        preference = getattr(self, "output_types_preference", None)
        if preference is None:
            raise NotImplementedError(f"Cannot calculate the output types for {self}")
        found = preference(*types)
        if not isinstance(found, (list, tuple)) or not all([isinstance(type_, Scalar) for type_ in found]):
            raise TypeError(f"output_types_preference should return a list or a tuple of types, Scalar ones "
                            f"such as phintys.scalar.float64: {preference} returned {found}")
        return found

    def impl(self, *values):
        """The result for numbers; a tuple if there are several results."""
        if self.nfunc_spec is None:
            raise MethodNotDefined("impl", type(self), type(self).__name__)
        module, _, function = self.nfunc_spec[0].rpartition(".")
        return getattr(import_module(module or "numpy"), function)(*values)

    def missing_method(self):
        """``impl``, if it is missing; see `PureOp.missing_method`."""
        given = getattr(self.impl, "__func__", self.impl) is not ScalarOp.impl or self.nfunc_spec is not None
        return None if given else (self, "impl(self, *values), which takes and returns numbers,")

    def grad(self, inputs, output_gradients):
        """The gradients with respect to the inputs; inputs and gradients are variables of Scalar types."""
        raise MethodNotDefined("grad", type(self), type(self).__name__)

    def L_op(self, inputs, outputs, output_gradients):
        """Like ``grad``, for formulas that use the outputs."""
        return self.grad(inputs, output_gradients)

    # ---- the interface to Elemwise -----------------------------------------------------------------------------
    def check_count(self, operands):
        """Raise TypeError if the number of operands is wrong."""
        if len(operands) != self.nin and (self.nin >= 0 or not operands):
            expected = self.nin if self.nin >= 0 else "at least 1"
            raise TypeError(f"Wrong number of inputs for {self}: got {len(operands)}, expected {expected}.")

    def output_dtypes(self, dtypes):
        """The dtypes of the results for operands of ``dtypes``.

        Raises
        ------
        TypeError
            If the number of operands or of results, or one of their dtypes does not fit.
        """
        self.check_count(dtypes)
        types = self.output_types([get_scalar_type(dtype) for dtype in dtypes])
        if len(types) != self.nout:
            raise TypeError(f"Not the right number of output types produced for {self}({', '.join(dtypes)}): expected "
                            f"{self.nout}, got {len(types)}.")
        return tuple([type_.dtype for type_ in types])

    def expression(self, operands):
        """The text of this op applied to the texts of its operands."""
        if self.symbol is not None and len(operands) > 1:
            return f"({f' {self.symbol} '.join(operands)})"
        if self.symbol is not None:
            return f"({self.symbol}{operands[0]})"
        return f"{self}({', '.join(operands)})"


class UnaryScalarOp(ScalarOp):
    """A ScalarOp with one input.

    Examples
    --------
    >>> class Doubled(phintys.scalar.UnaryScalarOp):
    ...     def impl(self, x):
    ...         return 2 * x
    >>> doubled = T.Elemwise(Doubled(phintys.scalar.same_out, name="doubled"))
    >>> doubled(T.as_tensor([1.5, 2.0])).eval()
    array([3., 4.])
    """

    nin = 1


class BinaryScalarOp(ScalarOp):
    """A ScalarOp with two inputs.

    Examples
    --------
    >>> class SumOfSquares(phintys.scalar.BinaryScalarOp):
    ...     def impl(self, x, y):
    ...         return x ** 2 + y ** 2
    >>> sum_of_squares = T.Elemwise(SumOfSquares(phintys.scalar.upcast_out, name="sum_of_squares"))
    >>> sum_of_squares(T.as_tensor([1.0, 2.0]), T.as_tensor([3.0, 4.0])).eval()
    array([10., 20.])
    """

    nin = 2
