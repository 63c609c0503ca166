"""ScalarCode: what it refuses, what it says about its slots, and the codes that are made of it."""
import numpy
import pytest

from phintys.ops.elementwise.scalar_code import CodeBuilder, ScalarCode, numbered
from phintys.vm.kernel_spec import kernel_of

D = "float64"


def code(outputs=(5,)):
    """``exp(x) * 2 + y``, and a step that no result needs."""
    return ScalarCode([D, D], [numpy.array(2.0)], [(numpy.exp, (0,), (D, D)), (numpy.multiply, (3, 2), (D,) * 3),
                                                   (numpy.add, (4, 1), (D,) * 3), ("copy", (0,), (D, D))], outputs)


def test_slots():
    given = code()
    assert given.first_step == 3 and given.dtypes == (D,) * 7
    assert given.constant(2) == 2 and given.constant(1) is given.constant(3) is None
    assert given.readers(0) == [3, 6] and given.readers(5) == []
    assert given.last_reader == [6, 5, 4, 4, 5, -1, -1]
    assert given.listing == ["s2 := 2.0 float64", "s3 := exp float64(s0)", "s4 := multiply float64(s3, s2)",
                             "s5 := add float64(s4, s1)", "s6 := copy float64(s0)", "results s5"]


def test_only_what_results_need_is_live():
    assert code().live().listing == code().listing[:4] + ["results s5"]
    assert code([3]).live().listing == ["s2 := exp float64(s0)", "results s2"]         # without the constant
    assert code([0]).live().listing == ["results s0"] and code([0]).live().input_dtypes == (D, D)


def test_steps_get_numbers_in_their_order():
    made = numbered([D], {"two": numpy.array(2.0)}, {"e": (numpy.exp, [0], (D, D)),
                                                     "m": (numpy.multiply, ["e", "two"], (D,) * 3)}, ["m", "e"])
    assert made.listing[1:] == ["s2 := exp float64(s0)", "s3 := multiply float64(s2, s1)", "results s3, s2"]


def test_a_builder_shares_equal_steps_and_constants():
    builder = CodeBuilder(["float32"])
    first = builder.apply("multiply", builder.cast(0, D), builder.constant(2, D))
    assert builder.apply("multiply", builder.cast(0, D), builder.constant(2.0, D)) == first
    assert builder.finish([first]).listing == ["s1 := 2.0 float64", "s2 := cast float64(s0)",
                                               "s3 := multiply float64(s2, s1)", "results s3"]


@pytest.mark.parametrize("steps, outputs, error, said", [
    ([(numpy.exp, [0], (D, D, D))], [1], TypeError, "exp takes 2 operands, not 1"),
    ([(numpy.exp, [1], (D, D))], [1], ValueError, "exp reads slot 1; there are 1 before it"),
    ([("copy", [-1], (D, D))], [1], ValueError, "copy reads slot -1"),
    ([("copy", [0], ("int8", "int8"))], [1], TypeError, "copy requires int8, but slot 0 is float64"),
    ([], [1], ValueError, "slot 1 does not exist; there are 1"), ([], [-1], ValueError, "slot -1 does not exist")])
def test_what_is_refused(steps, outputs, error, said):
    with pytest.raises(error, match=said):
        ScalarCode([D], [], steps, outputs)


def test_a_spec_describes_it_and_it_does_not_change():
    given = code()
    assert kernel_of(given.spec).spec == given.spec and hash(given.spec) == hash(code().spec)
    with pytest.raises(AttributeError):
        given.more = 1
