"""Graphs of mixed dtypes: dtypes and values as PyTensor's own Python code has them."""
import numpy as np
import pytest

pytest.importorskip("pytensor_reference")

import pytensor_reference as reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytensor_reference import pytensor

pt = pytensor.tensor
pytestmark = [pytest.mark.filterwarnings("ignore")]

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
UNARY = {
    "neg": lambda x: -x, "abs": abs, "sqrt": lambda x: pt.sqrt(abs(x)), "exp": lambda x: pt.exp(-abs(x)), "sqr": pt.sqr,
    "sign": pt.sign, "floor": pt.floor, "round": pt.round, "invert": pt.invert, "sigmoid": pt.sigmoid,
    "sum": lambda x: x.sum(), "sum along": lambda x: x.sum(axis=-1), "prod": lambda x: x[..., :2].prod(), "mean":
    lambda x: x.mean(), "max": lambda x: x.max(axis=-1), "min": lambda x: x.min(), "all": lambda x: pt.all(x, axis=-1),
    "any": pt.any, "argmax": lambda x: pt.argmax(x, axis=-1), "cumsum": lambda x: pt.cumsum(x, axis=-1),
    "sort": lambda x: pt.sort(x, axis=-1), "negative part": lambda x: pt.minimum(x, 0), "half": lambda x: x / 2,
    "plus one": lambda x: x + 1, "times a float": lambda x: x * 1.5, "clip": lambda x: pt.clip(x, 1, 5),
    "dot": lambda x: pt.dot(x.T, x), "isnan": pt.isnan, "sum of bytes": lambda x: pt.sum(x, dtype="int8"),
    "sum in float32": lambda x: pt.sum(x, acc_dtype="float64", dtype="float32"),
    **{f"cast to {dtype}": (lambda x, dtype=dtype: pt.cast(x, dtype)) for dtype in DTYPES},
}
BINARY = {
    "add": pt.add, "sub": pt.sub, "mul": pt.mul, "true_div": lambda x, y: pt.true_div(x, pt.switch(pt.eq(y, 0), 1, y)),
    "int_div": lambda x, y: pt.int_div(x, pt.switch(pt.eq(y, 0), 1, y)),
    "mod": lambda x, y: pt.mod(x, pt.switch(pt.eq(y, 0), 1, y)),
    "pow": lambda x, y: pt.pow(x, pt.clip(y, 0, 2)), "maximum": pt.maximum, "minimum": pt.minimum, "lt": pt.lt,
    "ge": pt.ge, "eq": pt.eq, "neq": pt.neq, "and": pt.and_, "or": pt.or_, "xor": pt.xor, "arctan2": pt.arctan2,
    "switch": lambda x, y: pt.switch(x > 1, x, y), "second": pt.second,
    "set": lambda x, y: pt.set_subtensor(x[..., 0], pt.cast(y, x.dtype)[..., 0]),
    "inc": lambda x, y: pt.inc_subtensor(x[..., :1], pt.cast(y, x.dtype)[..., :1]),
    "join": lambda x, y: pt.join(0, x, y), "dot": lambda x, y: pt.dot(x, y.T), "stack": lambda x, y: pt.stack([x, y]),
}
ROUNDED = {"exp", "sigmoid", "arctan2"}         # results that may differ by rounding, and are not read by other ops
VALUES = {"bool": [0, 1], "uint": [0, 1, 2, 3, 7], "int": [-3, -1, 0, 1, 2, 5],
          "float": [-2.5, -1.0, 0.0, 0.5, 1.0, 3.25]}


def value_of(dtype, choices, shape):
    """An array of small numbers, of which sums and products are exact."""
    numbers = VALUES[dtype.rstrip("0123456789")]
    return np.array([numbers[choice % len(numbers)] for choice in choices], dtype=dtype).reshape(shape)


@st.composite
def graphs(draw):
    """The variables, the last result, the arguments' values, and what was done."""
    shape = draw(st.sampled_from([(3,), (2, 3), ()]))
    size = int(np.prod(shape))
    dtypes = draw(st.lists(st.sampled_from(DTYPES), min_size=2, max_size=3))
    inputs = [pt.tensor(dtype=dtype, shape=(None,) * len(shape)) for dtype in dtypes]
    values = [value_of(dtype, draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)), shape)
              for dtype in dtypes]
    made, outputs, names = list(inputs), [], []
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from([*UNARY, *BINARY]))
        operands = [made[draw(st.integers(0, len(made) - 1))] for _ in range(1 if name in UNARY else 2)]
        try:
            output = (UNARY if name in UNARY else BINARY)[name](*operands)
        except (TypeError, ValueError, NotImplementedError, IndexError):
            continue                                    # PyTensor does not have it for these dtypes or ranks
        names.append(name)
        outputs.append(output)
        if name not in ROUNDED:
            made.append(output)
    return inputs, outputs, values, names


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_dtypes_and_values_are_those_of_pytensor(graph):
    inputs, outputs, values, names = graph
    if not outputs:
        return
    try:
        wanted = pytensor.function(inputs, outputs, mode=reference.PYTHON, on_unused_input="ignore")(*values)
    except (ValueError, TypeError, OverflowError):      # other lengths; it casts no negative numbers to unsigned ones
        return
    if [value.dtype for value in wanted] != [output.dtype for output in outputs]:
        return                                          # not what its node says: cumsum of bool
    f = pytensor.function(inputs, outputs, mode="PHINTYS", on_unused_input="ignore")
    for found, other, output in zip(f(*values), wanted, outputs, strict=True):
        assert found.dtype == output.dtype and found.shape == other.shape, names
        np.testing.assert_allclose(found.astype(output.dtype), other, rtol=1e-6, atol=1e-9, err_msg=str(names))
