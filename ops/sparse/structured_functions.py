"""Elementwise functions of the stored elements of a sparse matrix; positions that store nothing do not change.

``structured_exp`` differs from the exponential function, since ``exp(0)`` is not 0. The functions without this prefix
map 0 to 0. All gradients are structured. The functions work on the vector of stored elements, so several in a row are
fused to one loop.
"""
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise import scalar
from phintys.ops.sparse.compressed import CSM, csm_properties
from phintys.ops.sparse.sparse_op import as_compressed
from phintys.ops.types.constant import as_tensor_variable

# Name → the function of tensors. The functions of two operands take a number as the second.
STRUCTURED = {
    "structured_sigmoid": scalar.sigmoid.elementwise, "structured_exp": elementwise.exp,
    "structured_log": elementwise.log,
    "structured_pow": elementwise.pow, "structured_minimum": elementwise.minimum,
    "structured_maximum": elementwise.maximum, "structured_add": elementwise.add}
OF_ZERO = ("sin tan arcsin arctan sinh arcsinh tanh arctanh rint sgn ceil floor log1p expm1 deg2rad rad2deg trunc sqr "
           "sqrt conj")
OF_TWO = ("structured_pow", "structured_minimum", "structured_maximum", "structured_add")

EXAMPLE = """

    Examples
    --------
    >>> x = sparse.csr_matrix("x", "float64")
    >>> y = sparse.{name}(x{more})
    >>> phintys.function([x], y)([[0.0, 0.25]]).nnz, y.type
    (1, Sparse[float64, csr])
    """


def structured_monoid(tensor_op):
    """A decorator: the function becomes ``tensor_op`` of the stored elements of its first argument, a sparse matrix,
    and of its other arguments, numbers. Its body is not run.

    Examples
    --------
    >>> @sparse.basic.structured_monoid(T.cosh)
    ... def structured_cosh(x):
    ...     "cosh of the stored elements"
    >>> x = sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], structured_cosh(x * 0.0).toarray())([[1.0, 0.0]])
    array([[1., 0.]])
    """
    def decorator(function):
        def of_stored(x, *numbers):
            x = as_compressed(function.__name__, x)
            numbers = [as_tensor_variable(number) for number in numbers]
            for number in numbers:
                if number.type.ndim:
                    raise TypeError(f"{function.__name__}: the second argument must be a number, not {number} of type "
                                    f"{number.type}")
            data, indices, pointers, shape = csm_properties(x)
            return CSM(x.type.format)(tensor_op(data, *numbers), indices, pointers, shape)
        of_stored.__name__ = of_stored.__qualname__ = function.__name__
        of_stored.__module__, of_stored.__doc__ = function.__module__, function.__doc__
        return of_stored
    return decorator


def _define(name, tensor_op, text):
    def function(x):
        """Replaced by the decorator."""
    function.__name__ = name
    function.__doc__ = text + EXAMPLE.format(name=name, more=", 2.0" if name in OF_TWO else "")
    return structured_monoid(tensor_op)(function)


for _name, _function in STRUCTURED.items():
    _operands = "of the stored elements of a sparse matrix" + (" and a number" if _name in OF_TWO else "")
    globals()[_name] = _define(_name, _function, f"``{_name.removeprefix('structured_')}`` {_operands}. The gradient "
                               "is structured.")
for _name in OF_ZERO.split():
    globals()[_name] = _define(_name, getattr(elementwise, _name), f"``{_name}`` of the elements of a sparse matrix; "
                               "it maps 0 to 0. The gradient is structured.")
__all__ = ["structured_monoid", *STRUCTURED, *OF_ZERO.split()]
