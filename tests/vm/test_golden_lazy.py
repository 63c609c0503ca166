"""Golden listings of programs with lazy branches: jumps, blocks, what is dropped on which path, what is overwritten."""
import pytest
from test_golden_listings import code, listing, m, shared, x, y

import phintys.tensor as T
from phintys.ifelse import ifelse

c, d, e = T.iscalars("c", "d", "e")


def exclusive():
    return [c, x, y], ifelse(c, T.exp(x), T.dot(y, y) * y)


def needed_by_both_arms():
    v = T.exp(x)
    return [c, x, y], ifelse(c, v.sum(), T.dot(v, y))


def needed_by_one_arm_and_outside():
    v = T.exp(x)
    return [c, x, y], [ifelse(c, T.dot(v, y) * y, y), v.sum()]


def dropped_where_it_is_not_needed():
    v = T.exp(x)
    return [c, x], [v.sum(), ifelse(c, v.max() * v.min(), x.sum())]


def nested():
    return [c, d, x, y], ifelse(c, ifelse(d, T.exp(x), y), T.cos(x))


def several_values():
    return [c, x], list(ifelse(c, (x + 1, x), (x, x * 2)))


def needed_by_two_arms():
    v = T.dot(x, x) * x
    return [c, d, x, y], ifelse(c, v.sum(), y.sum()) * ifelse(d, v.max(), y.max())


def need_inside_a_block():
    v = T.dot(x, x)
    w = v * x
    return [c, d, e, x, y], ifelse(c, w.sum(), y.sum()) * ifelse(d, w.max(), y.max()) * ifelse(e, v, y.min())


def one_question_asked_twice():
    return [c, x, y], ifelse(c, x + 1, y) * ifelse(c, x * 2, y)


def overwritten_in_both_arms():
    v = T.dot(m, x)
    return [c, m, x], ifelse(c, v + 1, T.exp(v))


def overwritten_in_one_arm_only_if_nobody_reads_it_later():
    v = T.dot(m, x)
    return [c, m, x], [ifelse(c, v + 1, x), v.sum()]


def update():
    w = shared("w")
    return [x], None, [(w, ifelse(T.isnan(x.sum()), w, w - x))]


GOLDEN = {
    exclusive: (
        """
        JUMPZ   to 4 if C0 is 0
        KERNEL  C3 := Elemwise{exp,no_inplace}(C1)
        MOVE    C7 := C3
        JUMP    to 9
        KERNEL  C4 := dot(C2, C2)
        KERNEL  C5 := InplaceDimShuffle{x}(C4)
        KERNEL  C6 := Elemwise{mul,no_inplace}(C5, C2)
        DROP    C5
        MOVE    C7 := C6
        RESULT  C7
        HALT""",
        """
        JUMPZ   to 4 if C0 is 0
        KERNEL  C3 := Elemwise{exp,no_inplace}(C1)
        MOVE    C7 := C3
        JUMP    to 9
        KERNEL  C4 := dot(C2, C2)
        KERNEL  C5 := InplaceDimShuffle{x}(C4)
        KERNEL  C6 := Elemwise{mul,no_inplace}(C5, C2)
        DROP    C5
        MOVE    C7 := C6
        RESULT  C7
        DROP    C7
        HALT"""),
    needed_by_both_arms: (
        """
        KERNEL  C3 := Elemwise{exp,no_inplace}(C1)
        JUMPZ   to 6 if C0 is 0
        KERNEL  C4 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C3)
        DROP    C3
        ALIAS   C6 := C4
        JUMP    to 9
        KERNEL  C5 := dot(C3, C2)
        DROP    C3
        ALIAS   C6 := C5
        RESULT  C6
        HALT""",
        """
        KERNEL  C3 := Elemwise{exp,no_inplace}(C1)
        JUMPZ   to 5 if C0 is 0
        KERNEL  C4 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C3)
        ALIAS   C6 := C4
        JUMP    to 7
        KERNEL  C5 := dot(C3, C2)
        ALIAS   C6 := C5
        RESULT  C6
        HALT"""),
    needed_by_one_arm_and_outside: (
        """
        KERNEL  C3 := Elemwise{exp,no_inplace}(C1)
        JUMPZ   to 8 if C0 is 0
        KERNEL  C4 := dot(C3, C2)
        KERNEL  C5 := InplaceDimShuffle{x}(C4)
        KERNEL  C6 := Elemwise{mul,no_inplace}(C5, C2)
        DROP    C5
        MOVE    C7 := C6
        JUMP    to 9
        ALIAS   C7 := C2
        KERNEL  C8 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C3)
        DROP    C3
        RESULT  C7, C8
        HALT""",
        """
        KERNEL  C3 := Elemwise{exp,no_inplace}(C1)
        JUMPZ   to 8 if C0 is 0
        KERNEL  C4 := dot(C3, C2)
        KERNEL  C5 := InplaceDimShuffle{x}(C4)
        KERNEL  C6 := Elemwise{mul,no_inplace}(C5, C2)
        DROP    C5
        MOVE    C7 := C6
        JUMP    to 9
        ALIAS   C7 := C2
        KERNEL  C8 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C3)
        RESULT  C7, C8
        DROP    C7
        HALT"""),
    dropped_where_it_is_not_needed: (
        """
        KERNEL  C2 := Elemwise{exp,no_inplace}(C1)
        KERNEL  C3 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C2)
        JUMPZ   to 9 if C0 is 0
        KERNEL  C4 := Min{axis=None}(C2)
        KERNEL  C5 := Max{axis=None}(C2)
        DROP    C2
        KERNEL  C6 := Elemwise{mul,no_inplace}(C5, C4)
        ALIAS   C8 := C6
        JUMP    to 12
        DROP    C2
        KERNEL  C7 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C1)
        ALIAS   C8 := C7
        RESULT  C3, C8
        HALT""",
        """
        KERNEL  C2 := Elemwise{exp,no_inplace}(C1)
        KERNEL  C3 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C2)
        JUMPZ   to 8 if C0 is 0
        KERNEL  C4 := Min{axis=None}(C2)
        KERNEL  C5 := Max{axis=None}(C2)
        KERNEL  C6 := Elemwise{mul,no_inplace}(C5, C4)
        ALIAS   C8 := C6
        JUMP    to 10
        KERNEL  C7 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C1)
        ALIAS   C8 := C7
        RESULT  C3, C8
        HALT"""),
    nested: (
        """
        JUMPZ   to 8 if C0 is 0
        JUMPZ   to 5 if C1 is 0
        KERNEL  C4 := Elemwise{exp,no_inplace}(C2)
        MOVE    C5 := C4
        JUMP    to 6
        ALIAS   C5 := C3
        MOVE    C7 := C5
        JUMP    to 10
        KERNEL  C6 := Elemwise{cos,no_inplace}(C2)
        MOVE    C7 := C6
        RESULT  C7
        HALT""",
        """
        JUMPZ   to 8 if C0 is 0
        JUMPZ   to 5 if C1 is 0
        KERNEL  C4 := Elemwise{exp,no_inplace}(C2)
        MOVE    C5 := C4
        JUMP    to 6
        ALIAS   C5 := C3
        MOVE    C7 := C5
        JUMP    to 10
        KERNEL  C6 := Elemwise{cos,no_inplace}(C2)
        MOVE    C7 := C6
        RESULT  C7
        DROP    C7
        HALT"""),
    several_values: (
        """
        JUMPZ   to 5 if C0 is 0
        KERNEL  C3 := Elemwise{add,no_inplace}(C1, 1)
        MOVE    C6 := C3
        ALIAS   C7 := C1
        JUMP    to 8
        KERNEL  C5 := Elemwise{mul,no_inplace}(C1, 2)
        ALIAS   C6 := C1
        MOVE    C7 := C5
        RESULT  C6, C7
        HALT""",
        """
        JUMPZ   to 5 if C0 is 0
        KERNEL  C3 := Elemwise{add,no_inplace}(C1, 1)
        MOVE    C6 := C3
        ALIAS   C7 := C1
        JUMP    to 8
        KERNEL  C5 := Elemwise{mul,no_inplace}(C1, 2)
        ALIAS   C6 := C1
        MOVE    C7 := C5
        RESULT  C6, C7
        DROP    C6, C7
        HALT"""),
    needed_by_two_arms: (
        """
        JUMPZ   to 5 if C1 is 0
        NEED    block 0 at 18
        KERNEL  C7 := Max{axis=None}(C6)
        ALIAS   C9 := C7
        JUMP    to 7
        KERNEL  C8 := Max{axis=None}(C3)
        ALIAS   C9 := C8
        JUMPZ   to 12 if C0 is 0
        NEED    block 0 at 18
        KERNEL  C10 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C6)
        ALIAS   C12 := C10
        JUMP    to 14
        KERNEL  C11 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C3)
        ALIAS   C12 := C11
        DROP    C6
        KERNEL  C13 := Elemwise{mul,no_inplace}(C12, C9)
        RESULT  C13
        HALT
        KERNEL  C4 := dot(C2, C2)
        KERNEL  C5 := InplaceDimShuffle{x}(C4)
        KERNEL  C6 := Elemwise{mul,no_inplace}(C5, C2)
        DROP    C5
        BACK    end of block 0""",
        """
        JUMPZ   to 5 if C1 is 0
        NEED    block 0 at 17
        KERNEL  C7 := Max{axis=None}(C6)
        ALIAS   C9 := C7
        JUMP    to 7
        KERNEL  C8 := Max{axis=None}(C3)
        ALIAS   C9 := C8
        JUMPZ   to 12 if C0 is 0
        NEED    block 0 at 17
        KERNEL  C10 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C6)
        ALIAS   C12 := C10
        JUMP    to 14
        KERNEL  C11 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C3)
        ALIAS   C12 := C11
        KERNEL  C13 := Elemwise{mul,no_inplace}(C12, C9)
        RESULT  C13
        HALT
        KERNEL  C4 := dot(C2, C2)
        KERNEL  C5 := InplaceDimShuffle{x}(C4)
        KERNEL  C6 := Elemwise{mul,no_inplace}(C5, C2)
        DROP    C5
        BACK    end of block 0"""),
    need_inside_a_block: (
        """
        JUMPZ   to 4 if C2 is 0
        NEED    block 0 at 24
        ALIAS   C7 := C5
        JUMP    to 6
        KERNEL  C6 := Min{axis=None}(C4)
        ALIAS   C7 := C6
        JUMPZ   to 11 if C1 is 0
        NEED    block 1 at 26
        KERNEL  C10 := Max{axis=None}(C9)
        ALIAS   C12 := C10
        JUMP    to 13
        KERNEL  C11 := Max{axis=None}(C4)
        ALIAS   C12 := C11
        JUMPZ   to 18 if C0 is 0
        NEED    block 1 at 26
        KERNEL  C13 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C9)
        ALIAS   C15 := C13
        JUMP    to 20
        KERNEL  C14 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C4)
        ALIAS   C15 := C14
        DROP    C9
        KERNEL  C16 := Elemwise{mul,no_inplace}(C15, C12, C7)
        RESULT  C16
        HALT
        KERNEL  C5 := dot(C3, C3)
        BACK    end of block 0
        NEED    block 0 at 24
        KERNEL  C8 := InplaceDimShuffle{x}(C5)
        KERNEL  C9 := Elemwise{mul,no_inplace}(C8, C3)
        DROP    C8
        BACK    end of block 1""",
        """
        JUMPZ   to 4 if C2 is 0
        NEED    block 0 at 23
        ALIAS   C7 := C5
        JUMP    to 6
        KERNEL  C6 := Min{axis=None}(C4)
        ALIAS   C7 := C6
        JUMPZ   to 11 if C1 is 0
        NEED    block 1 at 25
        KERNEL  C10 := Max{axis=None}(C9)
        ALIAS   C12 := C10
        JUMP    to 13
        KERNEL  C11 := Max{axis=None}(C4)
        ALIAS   C12 := C11
        JUMPZ   to 18 if C0 is 0
        NEED    block 1 at 25
        KERNEL  C13 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C9)
        ALIAS   C15 := C13
        JUMP    to 20
        KERNEL  C14 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C4)
        ALIAS   C15 := C14
        KERNEL  C16 := Elemwise{mul,no_inplace}(C15, C12, C7)
        RESULT  C16
        HALT
        KERNEL  C5 := dot(C3, C3)
        BACK    end of block 0
        NEED    block 0 at 23
        KERNEL  C8 := InplaceDimShuffle{x}(C5)
        KERNEL  C9 := Elemwise{mul,no_inplace}(C8, C3)
        DROP    C8
        BACK    end of block 1"""),
    one_question_asked_twice: (
        """
        JUMPZ   to 5 if C0 is 0
        KERNEL  C3, C4 := Elemwise{Composite{(i0 + 1), (i0 * 2)}}(C1)
        MOVE    C5 := C4
        MOVE    C6 := C3
        JUMP    to 7
        ALIAS   C5 := C2
        ALIAS   C6 := C2
        KERNEL  C7 := Elemwise{mul,no_inplace}(C6, C5)
        DROP    C5, C6
        RESULT  C7
        HALT""",
        """
        JUMPZ   to 5 if C0 is 0
        KERNEL  C3, C4 := Elemwise{Composite{(i0 + 1), (i0 * 2)}}(C1)
        MOVE    C5 := C4
        MOVE    C6 := C3
        JUMP    to 7
        ALIAS   C5 := C2
        ALIAS   C6 := C2
        KERNEL  C7 := Elemwise{mul,no_inplace}(C6, C5)
        DROP    C5, C6
        RESULT  C7
        HALT"""),
    overwritten_in_both_arms: (
        """
        KERNEL  C3 := dot(C1, C2)
        JUMPZ   to 6 if C0 is 0
        KERNEL  C5 := Elemwise{add}[(0, 0)](C3, 1)
        DROP    C3
        MOVE    C7 := C5
        JUMP    to 9
        KERNEL  C6 := Elemwise{exp}[(0, 0)](C3)
        DROP    C3
        MOVE    C7 := C6
        RESULT  C7
        HALT""",
        """
        KERNEL  C3 := dot(C1, C2)
        JUMPZ   to 5 if C0 is 0
        KERNEL  C5 := Elemwise{add}[(0, 0)](C3, 1)
        MOVE    C7 := C5
        JUMP    to 7
        KERNEL  C6 := Elemwise{exp}[(0, 0)](C3)
        MOVE    C7 := C6
        RESULT  C7
        DROP    C7
        HALT"""),
    overwritten_in_one_arm_only_if_nobody_reads_it_later: (
        """
        KERNEL  C3 := dot(C1, C2)
        JUMPZ   to 5 if C0 is 0
        KERNEL  C5 := Elemwise{add,no_inplace}(C3, 1)
        MOVE    C6 := C5
        JUMP    to 6
        ALIAS   C6 := C2
        KERNEL  C7 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C3)
        DROP    C3
        RESULT  C6, C7
        HALT""",
        """
        KERNEL  C3 := dot(C1, C2)
        JUMPZ   to 5 if C0 is 0
        KERNEL  C5 := Elemwise{add,no_inplace}(C3, 1)
        MOVE    C6 := C5
        JUMP    to 6
        ALIAS   C6 := C2
        KERNEL  C7 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C3)
        RESULT  C6, C7
        DROP    C6
        HALT"""),
    update: (
        """
        LOAD    C1 := S0
        KERNEL  C2 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C0)
        KERNEL  C3 := Elemwise{isnan,no_inplace}(C2)
        JUMPZ   to 7 if C3 is 0
        ALIAS   C5 := C1
        DROP    C1
        JUMP    to 10
        KERNEL  C4 := Elemwise{sub,no_inplace}(C1, C0)
        DROP    C1
        MOVE    C5 := C4
        OWN     C5
        COMMIT
        STORE   S0 := C5
        HALT""",
        """
        LOAD    C1 := S0
        KERNEL  C2 := Sum{axis=None, dtype='float64', acc_dtype='float64'}(C0)
        KERNEL  C3 := Elemwise{isnan,no_inplace}(C2)
        JUMPZ   to 7 if C3 is 0
        ALIAS   C5 := C1
        DROP    C1
        JUMP    to 10
        KERNEL  C4 := Elemwise{sub,no_inplace}(C1, C0)
        DROP    C1
        MOVE    C5 := C4
        OWN     C5
        COMMIT
        STORE   S0 := C5
        HALT"""),
}


@pytest.mark.parametrize("allow_gc", [True, False])
@pytest.mark.parametrize("case", GOLDEN)
def test_golden(case, allow_gc):
    inputs, outputs, *updates = case()
    assert listing(inputs, outputs, allow_gc, updates=updates[0] if updates else None) == \
        code(GOLDEN[case][0 if allow_gc else 1])


def test_a_copy_instead_of_a_view_where_nothing_is_overwritten():
    assert listing([c, x, y], ifelse(c, x, y), mode="FAST_COMPILE") == code("""
        JUMPZ   to 3 if C0 is 0
        COPY    C3 := copy of C1
        JUMP    to 4
        COPY    C3 := copy of C2
        RESULT  C3
        HALT""")
