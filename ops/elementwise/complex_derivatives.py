"""Gradients and directional derivatives of scalar ops, derived from the gradient formula in each row of the table.

The formula is written for real operands: the output's gradient times a slope. The gradient with respect to a complex z
is defined as dcost/dz.real + i dcost/dz.imag, so the meaning of the formula for complex operands depends on the row's
``complex_rule``:

* ``holomorphic``: the slope is a complex derivative; a gradient is multiplied by the conjugate of the slope, a
  direction by the slope itself;
* ``real_slope``: the slope is real, or the output consists of elements of the operand: conjugation has no effect;
* ``transposed``: the formula is the gradient as defined above, of a map that is linear only over the reals, such as a
  modulus; a direction is computed from the gradients of the real and imaginary parts;
* None: there is no formula for complex operands.
"""
from phintys.ops.elementwise.scalar import as_dtype, complex, conj, real, second
from phintys.ops.types.constant import constant
from phintys.ops.types.dtypes import complex_dtypes


def conjugated(variable):
    """The complex conjugate; the variable itself when it is real."""
    return conj(variable) if variable.type.dtype in complex_dtypes else variable


def real_like(variable, gradient):
    """The gradient in the domain of a variable: its real part if the variable is real."""
    if gradient.type.dtype in complex_dtypes and variable.type.dtype not in complex_dtypes:
        return real(gradient)
    return gradient


def gradients(row, inputs, outputs, output_gradients, wanted=None):
    """The gradients with respect to the inputs, in the shape of the output; None where there is no formula, and perhaps
    where none is ``wanted``.

    Raises
    ------
    NotImplementedError
        If operands are complex and the row has no formula for them.
    """
    if not _is_complex(row, inputs, outputs):
        return row.gradients(inputs, outputs, output_gradients, wanted)
    if row.complex_rule == "holomorphic":
        turned = row.gradients(inputs, outputs, [conjugated(gradient) for gradient in output_gradients])
        found = [None if term is None else conjugated(term) for term in turned]
    else:
        found = row.gradients(inputs, outputs, output_gradients)
    return [None if term is None else real_like(x, term) for x, term in zip(inputs, found)]


def directions(row, inputs, outputs, points):
    """The derivative of the output along a direction of each input alone.

    Parameters
    ----------
    points : list of (int, Variable)
        Positions of inputs, and directions in the shape of the output.

    Returns
    -------
    list of Variable or None
        One for each of ``points``; None where there is no formula.

    Raises
    ------
    NotImplementedError
        If operands are complex and the row has no formula for them.
    """
    output = outputs[0]
    is_complex = _is_complex(row, inputs, outputs)
    if is_complex and row.complex_rule == "transposed":
        found = [_along(row, inputs, outputs, position, point) for position, point in points]
    elif len(points) > 3:               # one formula for all inputs: one formula for each would be quadratic
        slopes = row.gradients(inputs, outputs, [_constant_like(output, 1)])
        found = [None if slopes[position] is None else slopes[position] * point for position, point in points]
    else:
        if is_complex:
            points = [(position, as_dtype(point, output.type.dtype)) for position, point in points]
        found = [row.gradients(inputs, outputs, [point])[position] for position, point in points]
    return [as_dtype(term, output.type.dtype) if is_complex and term is not None else term for term in found]


def _is_complex(row, inputs, outputs):
    """Whether an operand or output is complex; raises an error if the row has no formula for complex operands."""
    if refuses_complex(row, inputs, outputs):
        raise NotImplementedError(f"{row.name} has no gradient for complex operands.")
    return any([variable.type.dtype in complex_dtypes for variable in (*inputs, *outputs)])


def refuses_complex(row, inputs, outputs):
    """Whether an operand or output is complex, and the row has no formula for complex operands."""
    return row.gradient is not None and row.complex_rule is None and any(
        [variable.type.dtype in complex_dtypes for variable in (*inputs, *outputs)])


def _along(row, inputs, outputs, position, point):
    """A directional derivative from the transposed map: its parts are inner products with the parts' gradients."""
    def part(unit):
        gradient = gradients(row, inputs, outputs, [_constant_like(outputs[0], unit)])[position]
        return real(conjugated(gradient) * point)

    return complex(part(1), part(1j)) if outputs[0].type.dtype in complex_dtypes else part(1)


def _constant_like(variable, value):
    return second(variable, constant(value, dtype=variable.type.dtype))
