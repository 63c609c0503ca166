"""Golden listings: the very instructions that programs compile to."""
import re

import pytest
from program_listings import code, listing, m, shared, x, y

import phintys
import phintys.tensor as T
from phintys.ops.native.sets import usable_sets
from phintys.ops.products.blas_library import blas_title


def test_one_kernel():
    assert listing([x], x + 1) == code("""
        KERNEL  C2 := Elemwise{add,no_inplace}(C0, 1)
        RESULT  C2
        HALT""")


def test_a_chain_is_one_kernel_with_its_constants_inside():
    assert listing([x], T.tanh(T.exp(x) * 2 + 1)) == code("""
        KERNEL  C1 := Elemwise{Composite{tanh(((exp(i0) * 2) + 1))}}(C0)
        RESULT  C1
        HALT""")


def test_unoptimised_code_drops_each_intermediate_at_its_last_use():
    assert listing([x, m], T.dot(m, T.exp(T.dot(m, x))), mode="FAST_COMPILE") == code("""
        KERNEL  C2 := dot(C1, C0)
        KERNEL  C3 := Elemwise{exp}[(0, 0)](C2)
        DROP    C2
        KERNEL  C4 := dot(C1, C3)
        DROP    C3
        RESULT  C4
        HALT""")


def test_without_gc_large_memory_stays_with_the_frame():
    assert listing([x, y], T.exp(T.exp(x) * y), mode="FAST_COMPILE", allow_gc=False) == code("""
        KERNEL  C2 := Elemwise{exp,no_inplace}(C0)
        KERNEL  C3 := Elemwise{mul}[(0, 0)](C2, C1)
        DROP    C2
        KERNEL  C4 := Elemwise{exp}[(0, 0)](C3)
        DROP    C3
        RESULT  C4
        DROP    C4
        HALT""")


def test_a_plan_is_chosen_when_the_shapes_are_known():
    s = shared("s")
    assert listing([m], T.tanh(T.dot(T.exp(T.dot(m, s)), m)), mode="FAST_COMPILE", allow_gc="plan") == code("""
        LOAD    C1 := S0
        PLAN    3 cells
        KERNEL  C2 := dot(C0, C1)
        DROP    C1
        KERNEL  C3 := Elemwise{exp}[(0, 0)](C2)
        DROP    C2
        KERNEL  C4 := dot(C3, C0)
        DROP    C3
        KERNEL  C5 := Elemwise{tanh}[(0, 0)](C4)
        DROP    C4
        RESULT  C5
        HALT""")


def test_where_nothing_has_a_place_there_is_no_plan():
    assert listing([x, y], T.exp(x) + y, allow_gc="plan") == code("""
        KERNEL  C2 := Elemwise{Composite{(exp(i0) + i1)}}(C0, C1)
        RESULT  C2
        HALT""")


def test_a_counter_lives_in_its_cell():
    n = phintys.shared(0, "n")
    assert listing([], n, updates=[(n, n + 1)]) == code("""
        LOAD    C0 := S0
        KERNEL  C2 := Elemwise{add,no_inplace}(C0, 1)
        OWN     C2
        RESULT  C0
        COMMIT
        STORE   S0 := C2
        HALT    C2""")


def test_a_result_that_is_stored_too_is_copied_before_it_is_handed_out():
    s = shared("s")
    assert listing([x], s + x, updates=[(s, s + x)]) == code("""
        LOAD    C1 := S0
        KERNEL  C2 := Elemwise{add,no_inplace}(C1, C0)
        DROP    C1
        OWN     C2
        COPY    C3 := copy of C2
        RESULT  C3
        COMMIT
        STORE   S0 := C2
        HALT    C2""")


def test_the_same_result_twice_and_an_argument():
    assert listing([x], [x + 1, x + 1, x]) == code("""
        KERNEL  C2 := Elemwise{add,no_inplace}(C0, 1)
        COPY    C3 := copy of C2
        RESULT  C2, C3, C0
        HALT""")


def test_a_reduction_takes_its_producer_into_the_same_pass():
    instructions = listing([m, x], T.tanh(T.dot(m, x) + 1).sum())
    assert [instruction[0] for instruction in instructions] == ["KERNEL", "KERNEL", "DROP", "RESULT", "HALT"]
    assert instructions[0][1] == "C2 := dot(C0, C1)"
    assert instructions[1][1].startswith("C3 := Sum{axis=None")


def test_an_op_with_only_perform_is_called():
    class Twice(phintys.Op):
        __props__ = ()

        def make_node(self, value):
            return phintys.Apply(self, [value], [value.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 2

    assert listing([x], Twice()(x)) == code("""
        CALL    C1 := Twice(C0)
        RESULT  C1
        HALT""")


def test_the_listing_reads_without_a_manual():
    s = shared("weights")
    text = phintys.function([x], T.exp(x) + s, name="reads").explain("instructions")
    assert text.startswith("program reads: ")
    assert re.search(r"C0 +argument +float64 \(\?\) +x\n", text)
    assert re.search(r"C1 +shared +float64 \(\?\) +weights\n", text)
    assert "test_golden_listings.py:" in text


def test_the_manual_lists_every_opcode():
    from phintys.vm.explaining.listing import manual_lines
    from phintys.vm.opcodes import OPCODES
    manual = "\n".join(manual_lines())
    for opcode in OPCODES:
        assert re.search(rf"^{opcode.name} .*{re.escape(opcode.effect)}$", manual, re.MULTILINE)


def test_the_listing_says_whose_loops_compute():
    with phintys.change_flags(cpu="baseline", math="numpy"):
        outputs = [T.tanh(T.exp(x)) + 1, T.log(y).sum(), T.nnet.softmax(m)]
        assert loops_of([x, y, m], outputs) == [
            "exp, tanh: NumPy; arithmetic: phintys", "exp: NumPy", "log: NumPy; add: phintys"]
    assert "loops" not in phintys.function([m], m[1:]).explain("instructions")


def loops_of(inputs, outputs):
    """What the listing says about loops, without the cells."""
    text = phintys.function(inputs, outputs).explain("instructions")
    loops = text.partition("\nloops\n")[2].partition("\nmemory\n")[0].splitlines()
    return sorted(line.split(maxsplit=1)[1] for line in loops)


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
def test_the_listing_says_whose_products_they_are(cpu):
    a, b, n = T.dtensor3s(2) + [T.lmatrix()]
    with phintys.change_flags(cpu=cpu):
        own = {"avx512": "phintys AVX-512", "avx2": "phintys AVX2", "": "phintys"}[(usable_sets() or [""])[-1]]
        either = f"product: {own}, or {blas_title()} where that is faster"
        assert loops_of([m, x], T.dot(m, x)) == [either]
        assert loops_of([m], 2 * T.dot(m, m) + m) == [either]
        assert loops_of([a, b], T.batched_dot(a, b)) == [either]
        assert loops_of([m, x, y], m + T.outer(x, y)) == [f"outer product: {own}"]
        assert loops_of([n], T.dot(n, n)) == ["product: phintys"]
        images, filters = T.dtensor4s(2)
        assert loops_of([images, filters], T.nnet.conv2d(images, filters)) == [f"convolution: {own}"]
    assert re.fullmatch(r"OpenBLAS \w+|SciPy's BLAS", blas_title())


def test_the_listing_says_that_arithmetic_is_one_pass():
    text = phintys.function([x, y], (x - y) / (1 + x) + y / x).explain("instructions")
    assert "arithmetic (5 instructions in one pass): phintys" in text
