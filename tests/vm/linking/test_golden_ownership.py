"""Golden listings of programs that overwrite, move, lend and copy memory."""
import numpy as np
import pytest
from program_listings import code, listing, m, shared, x, y

import phintys
import phintys.tensor as T
from phintys import In, Out
from phintys.ifelse import ifelse


class Increment(phintys.Op):
    """Adds one to its input, in the input's memory."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        inputs[0] += 1
        output_storage[0][0] = inputs[0]


def gradient_descent():
    w = shared("w")
    return dict(inputs=[x], updates=[(w, w - 0.1 * x)])


def momentum():
    w, v = shared("w"), shared("v")
    new = 0.9 * v - 0.1 * x
    return dict(inputs=[x], updates=[(v, new), (w, w + new)])


def adam():
    w, first, second = shared("w"), shared("m"), shared("v")
    new_first, new_second = 0.9 * first + 0.1 * x, 0.99 * second + 0.01 * x * x
    return dict(inputs=[x], updates=[(first, new_first), (second, new_second),
                                     (w, w - 0.1 * new_first / (T.sqrt(new_second) + 1e-8))])


def product():
    w = phintys.shared(np.ones((3, 3)), "w")
    return dict(inputs=[m], updates=[(w, w - 0.1 * T.dot(m.T, m))])


def swapped():
    w, v = shared("w"), shared("v")
    return dict(inputs=[], updates=[(w, v), (v, w)])


def chain_of_moves():
    a, b, c = shared("a"), shared("b"), shared("c")
    return dict(inputs=[x], updates=[(a, b), (b, c), (c, x)])


def rotation():
    w, v = shared("w"), shared("v")
    return dict(inputs=[], updates=[(w, w + v), (v, v - w)])


def chain_of_parts():
    w, rows, others = phintys.shared(np.ones((3, 3)), "w"), T.lvector("rows"), T.lvector("others")
    return dict(inputs=[m, rows, others], updates=[(w, T.inc_subtensor(T.inc_subtensor(w[rows], m)[others], m))])


def chain_that_another_update_reads():
    w, v = shared("w"), shared("v")
    new = T.set_subtensor((0.5 * w)[:1], 0.0)
    return dict(inputs=[], outputs=w, updates=[(w, T.inc_subtensor(new[1:], 1.0)), (v, v + new)])


def old_value():
    w = shared("w")
    return dict(inputs=[x], outputs=w, updates=[(w, w - x)])


def new_value():
    w = shared("w")
    return dict(inputs=[x], outputs=w - x, updates=[(w, w - x)])


def step_that_is_a_result():
    w = shared("w")
    return dict(inputs=[x], outputs=x * 2, updates=[(w, w - x * 2)])


def destroyed_shared_value():
    return dict(inputs=[], outputs=Increment()(shared("w")), accept_inplace=True)


def destroyed_update():
    w = shared("w")
    return dict(inputs=[], updates=[(w, Increment()(w))], accept_inplace=True)


GOLDEN = {
    gradient_descent: """
        LOAD    C1 := S0
        PREPARE C2 := Elemwise{Composite{(i1 - (0.1 * i0))}}[(0, 1)](C0, C1)
        COMMIT
        RUN     C2 := Elemwise{Composite{(i1 - (0.1 * i0))}}[(0, 1)](C0, C1)
        STORE   S0 := C2
        HALT    C2, C1""",
    momentum: """
        LOAD    C1 := S0
        LOAD    C2 := S1
        PREPARE C3, C4 := Elemwise{Composite{t0, (i2 + t0), t0=((0.9 * i1) - (0.1 * i0))}}[(0, 1), (1, 2)](C0, C1, C2)
        COMMIT
        RUN     C3, C4 := Elemwise{Composite{t0, (i2 + t0), t0=((0.9 * i1) - (0.1 * i0))}}[(0, 1), (1, 2)](C0, C1, C2)
        STORE   S0 := C3
        STORE   S1 := C4
        HALT    C3, C4, C1, C2""",
    product: """
        LOAD    C1 := S0
        KERNEL  C2 := InplaceDimShuffle{1,0}(C0)
        PREPARE C5 := Gemm{inplace}(C1, C3, C2, C0, C4)
        COMMIT
        RUN     C5 := Gemm{inplace}(C1, C3, C2, C0, C4)
        STORE   S0 := C5
        HALT    C5, C1, C2""",
    swapped: """
        LOAD    C0 := S0
        LOAD    C1 := S1
        COMMIT
        STORE   S1 := C0
        STORE   S0 := C1
        HALT    C0, C1""",
    rotation: """
        LOAD    C0 := S0
        LOAD    C1 := S1
        PREPARE C2, C3 := Elemwise{Composite{(i0 + i1), (i1 - i0)}}[(0, 0), (1, 1)](C0, C1)
        COMMIT
        RUN     C2, C3 := Elemwise{Composite{(i0 + i1), (i1 - i0)}}[(0, 0), (1, 1)](C0, C1)
        STORE   S0 := C2
        STORE   S1 := C3
        HALT    C2, C3, C0, C1""",
    chain_of_parts: """
        LOAD    C3 := S0
        PREPARE C4 := AdvancedIncSubtensor1{inplace,inc}(C3, C0, C1)
        PREPARE C5 := AdvancedIncSubtensor1{inplace,inc}(C4, C0, C2)
        COMMIT
        RUN     C4 := AdvancedIncSubtensor1{inplace,inc}(C3, C0, C1)
        RUN     C5 := AdvancedIncSubtensor1{inplace,inc}(C4, C0, C2)
        STORE   S0 := C5
        HALT    C5, C3, C4""",
    chain_that_another_update_reads: """
        LOAD    C0 := S0
        LOAD    C1 := S1
        RESULT  C0
        PREPARE C3 := Elemwise{mul}[(0, 1)](0.5, C0)
        PREPARE C5 := IncSubtensor{InplaceSet;:1}(C3, C4)
        PREPARE C6 := Elemwise{add}[(0, 0)](C1, C5)
        PREPARE C8 := IncSubtensor{InplaceInc;1:}(C5, C7)
        COMMIT
        RUN     C3 := Elemwise{mul}[(0, 1)](0.5, C0)
        RUN     C5 := IncSubtensor{InplaceSet;:1}(C3, C4)
        RUN     C6 := Elemwise{add}[(0, 0)](C1, C5)
        RUN     C8 := IncSubtensor{InplaceInc;1:}(C5, C7)
        STORE   S0 := C8
        STORE   S1 := C6
        HALT    C8, C6, C0, C1, C3, C5""",
    old_value: """
        LOAD    C1 := S0
        RESULT  C1
        PREPARE C2 := Elemwise{sub}[(0, 0)](C1, C0)
        COMMIT
        RUN     C2 := Elemwise{sub}[(0, 0)](C1, C0)
        STORE   S0 := C2
        HALT    C2, C1""",
    new_value: """
        LOAD    C1 := S0
        KERNEL  C2 := Elemwise{sub,no_inplace}(C1, C0)
        DROP    C1
        OWN     C2
        COPY    C3 := copy of C2
        RESULT  C3
        COMMIT
        STORE   S0 := C2
        HALT    C2""",
    step_that_is_a_result: """
        LOAD    C1 := S0
        KERNEL  C3 := Elemwise{mul,no_inplace}(C0, 2)
        RESULT  C3
        PREPARE C4 := Elemwise{sub}[(0, 0)](C1, C3)
        COMMIT
        RUN     C4 := Elemwise{sub}[(0, 0)](C1, C3)
        STORE   S0 := C4
        HALT    C4, C1, C3""",
    destroyed_shared_value: """
        LOAD    C0 := S0
        COPY    C1 := copy of C0
        DROP    C0
        CALL    C2 := Increment(C1)
        DROP    C1
        RESULT  C2
        HALT""",
    destroyed_update: """
        LOAD    C0 := S0
        COPY    C1 := copy of C0
        DROP    C0
        CALL    C2 := Increment(C1)
        DROP    C1
        OWN     C2
        COMMIT
        STORE   S0 := C2
        HALT    C2""",
}


@pytest.mark.parametrize("program", GOLDEN, ids=lambda program: program.__name__)
def test_program(program):
    assert listing(**program()) == code(GOLDEN[program])


def test_adam_is_one_kernel_over_all_parameters():
    instructions = listing(**adam())
    assert [name for name, _ in instructions] == [
        "LOAD", "LOAD", "LOAD", "PREPARE", "COMMIT", "RUN", "STORE", "STORE", "STORE", "HALT"]
    run = dict(instructions)["RUN"]
    assert run.startswith("C4, C5, C6 := Elemwise{Composite{") and "[(0, 1), (1, 2), (2, 3)](" in run


def test_old_values_move_along_a_chain_of_updates():
    instructions = listing(**chain_of_moves())
    assert [name for name, _ in instructions] == ["LOAD", "LOAD", "COPY", "COMMIT", "STORE", "STORE", "STORE", "HALT"]


def test_two_results_in_one_memory():
    assert listing([x], [(x * 2)[::-1], x * 2]) == code("""
        KERNEL  C2 := Elemwise{mul,no_inplace}(C0, 2)
        KERNEL  C3 := Subtensor{::-1}(C2)
        RESULT  C3, C2
        HALT""")


def test_a_borrowed_view_of_a_borrowed_argument():
    assert listing([In(m, borrow=True)], Out(m.T, borrow=True)) == code("""
        KERNEL  C1 := InplaceDimShuffle{1,0}(C0)
        DROP    C0
        RESULT  C1
        HALT""")


def test_a_mutable_argument_is_overwritten():
    assert listing([In(x, mutable=True)], T.exp(x)) == code("""
        KERNEL  C1 := Elemwise{exp}[(0, 0)](C0)
        DROP    C0
        RESULT  C1
        HALT""")


def test_what_a_branch_chooses_is_not_in_the_memory_of_an_argument():
    """The caller has that array already; only what is computed before the result may take it."""
    flag = T.iscalar("flag")
    f = phintys.function([flag, In(x, mutable=True), y], ifelse(flag, x + 1, y * 2))
    given = np.arange(3.0)
    assert not np.shares_memory(f(1, given, given + 1), given)


def test_an_argument_that_the_users_own_op_overwrites():
    assert listing([x], Increment()(x), accept_inplace=True) == code("""
        CALL    C1 := Increment(C0)
        DROP    C0
        COPY    C2 := copy of C1
        DROP    C1
        RESULT  C2
        HALT""")


def memory(inputs, outputs=None, **options):
    """What a listing says about memory: cell → note."""
    text = phintys.function(inputs, outputs, **options).explain("instructions")
    lines = text.partition("\nmemory\n")[2].partition("\nnot in place\n")[0].splitlines()
    return dict(line.split(maxsplit=1) for line in lines)


def test_the_listing_says_who_owns_what():
    w = shared("w")
    assert memory([x, In(y, mutable=True), In(m, borrow=True)],
                  [Out(T.exp(y), borrow=True), Out(m.T, borrow=True), Out(x * 3, borrow=True), m.sum()],
                  updates=[(w, w + x)]) == {
        "C0": "the caller's, only read",
        "C1": "the caller's, may be overwritten; copied first if it is read-only or overlaps another",
        "C2": "the caller's, only read; a borrowed result may show it",
        "C3": "the shared variable's",
        "C4": "the program's, lent to the caller; the next call writes to it again; takes C1's memory, unless others "
              "refer to it",
        "C5": "shown to the caller without a copy; a view of C2",
        "C7": "the program's, lent to the caller; the next call writes to it again",
        "C9": "takes S0's memory, unless others refer to it",
    }


def test_what_is_stored_is_not_lent():
    """A borrowed result that is a new value of a shared variable, too, is a copy; its own memory is the container's."""
    w, total = shared("w"), T.cumsum(x)
    assert "lent" in str(memory([x], Out(total, borrow=True)))
    assert "lent" not in str(memory([x], Out(total, borrow=True), updates=[(w, total)]))


def reasons(inputs, outputs=None, **options):
    """What a listing says about copies, in the order of the instructions."""
    text = phintys.function(inputs, outputs, **options).explain("instructions")
    return [part for line in text.splitlines() for part in line.split("  ") if "copied" in part or "because" in part]


def test_the_listing_says_what_is_copied_and_why():
    w = shared("w")
    new = w + x
    assert any("because it is stored too" in reason for reason in reasons([x], new, updates=[(w, new)]))
    assert any("because it is an argument" in reason for reason in reasons([x], updates=[(w, x)]))
    assert any("C1 is copied: it is C0's memory, the caller's" in reason for reason in reasons([m], m.T))
    assert any("C0 is copied: its memory is the shared variable's" in reason for reason in reasons([], w))
    assert any("Increment overwrites it" in reason for reason in reasons([], Increment()(w), accept_inplace=True))
    assert any("C3 is copied while C2 is in the same memory" in reason
               for reason in reasons([x], [(x * 2)[::-1], x * 2]))


def not_in_place(inputs, outputs=None, **options):
    """What a listing says about what is not in place, without numbers of cells."""
    text = phintys.function(inputs, outputs, **options).explain("instructions")
    return [line.partition(": ")[2] for line in text.partition("\nnot in place\n")[2].splitlines()]


def test_the_listing_says_why_something_is_not_in_place():
    w, v = phintys.shared(np.ones((3, 3)), "w"), phintys.shared(np.ones((3, 3)), "v")
    rows = T.lvector("rows")
    part = T.inc_subtensor(w[rows], m)
    assert not_in_place([m], T.exp(m)) == ["it is an input that is not mutable"]
    assert not_in_place([In(m, mutable=True)], T.exp(m)) == []
    assert not_in_place([], T.exp(T.constant(np.ones(2))), mode="FAST_COMPILE") == []
    assert not_in_place([m], [T.exp(T.dot(m, m)), T.dot(m, m).sum(), T.dot(m, m)])[0].startswith("an output")
    assert not_in_place([m], [T.dot(T.exp(T.dot(m, m)), T.dot(m, m))], mode="FAST_COMPILE") == ["dot reads it later"]
    assert not_in_place([], updates=[(w, w + w.T)])[0].startswith("the node reads the same memory")
    assert not_in_place([], w * 2, updates=[(w, w * 3)]) == ["its own update overwrites it, last of all"]
    assert not_in_place([m], w - m, updates=[(w, w - m)])[0] == "what this makes is a result, too"
    assert not_in_place([m], updates=[(w, w - m), (v, w - m)])[0] == "what this makes is another update, too"
    assert not_in_place([m, rows], part.sum(), updates=[(w, T.inc_subtensor(part[0], 1.0))]) == [
        "Sum{axis=None, dtype='float64', acc_dtype='float64'} reads what this makes, and it cannot wait until nothing "
        "can fail any more"]
    assert "what is read of old values forms a circle" in not_in_place(
        [m], updates=[(w, w + T.dot(v, m)), (v, v + T.dot(w, m))])
    assert not_in_place([m], updates=[(w, w + m)], mode=phintys.Mode(optimizer="None"))[0].startswith("the mode has")
