"""``as_op``: makes an op from a Python function.

The op calls the function each time it runs; it has no gradient. The function should not modify its arguments.
"""
import pickle

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.type import Type


class FromFunctionOp(Op):
    """The op that calls a Python function.

    Parameters
    ----------
    fn : callable
        Takes values of the input types and returns one value, or a list or tuple of values, of the output types.
    itypes, otypes : list of Type
    infer_shape : callable or None
        Takes the node and the shapes of its inputs and returns the shapes of its outputs.

    Examples
    --------
    >>> double = phintys.compile.FromFunctionOp(lambda x: x * 2, [T.dvector], [T.dvector], None)
    >>> double(T.as_tensor([1.0, 2.0])).eval()
    array([2., 4.])
    """

    def __init__(self, fn, itypes, otypes, infer_shape=None):
        self.fn = fn
        self.itypes = itypes
        self.otypes = otypes
        self.__name__ = fn.__name__
        self.__module__ = fn.__module__         # pickle imports the name from this module
        self.__doc__ = fn.__doc__
        self._infer_shape = infer_shape
        if infer_shape is not None:
            self.infer_shape = infer_shape

    def __eq__(self, other):
        return type(self) is type(other) and self.fn == other.fn

    def __hash__(self):
        return hash((type(self), self.fn))

    def __str__(self):
        return f"FromFunctionOp{{{self.__name__}}}"

    def make_node(self, *inputs):
        if len(inputs) != len(self.itypes):
            raise ValueError(f"We expected {len(self.itypes)} inputs but got {len(inputs)}: {inputs}")
        inputs = [wanted.filter_variable(value) for wanted, value in zip(self.itypes, inputs)]
        return Apply(self, inputs, [wanted() for wanted in self.otypes])

    def perform(self, node, inputs, output_storage, params=None):
        results = self.fn(*inputs)
        results = results if isinstance(results, (list, tuple)) else [results]
        if len(results) != len(output_storage):
            raise ValueError(f"{self} returned {len(results)} values, {len(output_storage)} were declared")
        for storage, wanted, value in zip(output_storage, self.otypes, results):
            storage[0] = wanted.filter(value)

    def __reduce__(self):
        """Pickle by name: if ``as_op`` was used as a decorator, the name of the function refers to the op."""
        name, module = self.fn.__name__, __import__(self.fn.__module__, fromlist=["*"])
        found = getattr(module, name, None)
        if found is self:
            return name
        if found is self.fn:
            return type(self), (self.fn, self.itypes, self.otypes, self._infer_shape)
        raise pickle.PicklingError(f"{self} cannot be pickled: {self.fn.__module__} has no function {name!r} at its "
                                   "top level")


def as_op(itypes, otypes, infer_shape=None):
    """Decorator that makes an op from a Python function.

    Parameters
    ----------
    itypes, otypes : Type or list of Type
        The types of the arguments and of the results.
    infer_shape : callable, optional
        See `FromFunctionOp`.

    Returns
    -------
    callable
        Takes the function and returns its `FromFunctionOp`.

    Raises
    ------
    TypeError
        If an entry of ``itypes`` or ``otypes`` is not a type, or ``infer_shape`` is not callable.

    Examples
    --------
    >>> @phintys.as_op(itypes=[T.dvector], otypes=[T.dscalar])
    ... def product(values):
    ...     return numpy.prod(values)
    >>> product(T.as_tensor([1.5, 2.0, 4.0])).eval()
    array(12.)
    """
    if infer_shape is not None and not callable(infer_shape):
        raise TypeError(f"infer_shape needs to be a callable, got {infer_shape!r}")
    itypes, otypes = _types(itypes, "itypes"), _types(otypes, "otypes")
    return lambda fn: FromFunctionOp(fn, itypes, otypes, infer_shape)


def _types(types, name):
    types = list(types) if isinstance(types, (list, tuple)) else [types]
    wrong = [entry for entry in types if not isinstance(entry, Type)]
    if wrong:
        raise TypeError(f"{name} has to be a list of phintys types, got {wrong[0]!r}")
    return types
