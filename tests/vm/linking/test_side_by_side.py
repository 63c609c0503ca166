"""Independent branches of kernels in groups: what is grouped, what is not, and that values do not depend on it."""
import gc

import numpy as np
import pytest
from program_listings import code, listing

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.vm.linking.plan import Planner
from phintys.vm.opcodes import CONTINUES
from phintys.vm.pool import pool_statistics

a, b, c = T.matrices("a", "b", "c")
GENERATOR = np.random.default_rng(0)
VALUES = [GENERATOR.uniform(size=(90, 90)) for _ in range(3)]


@pytest.fixture(autouse=True)
def two_workers():
    with phintys.config.change_flags(workers=2):
        yield


def test_independent_products_stand_together():
    assert listing([a, b, c], [T.dot(a, b), T.dot(b, c)], workers=2) == code("""
        TOGETHER the next 2
        KERNEL  C3 := Dot22(C0, C1)
        KERNEL  C4 := Dot22(C1, C2)
        RESULT  C3, C4
        HALT""")


def test_views_are_made_before_the_group_and_drops_stand_behind_it():
    names = [name for name, _ in listing([a, b], T.dot(a.T, b).sum() + T.dot(b.T, a).sum(), workers=2)]
    at = names.index("TOGETHER")
    assert names[at:at + 6] == ["TOGETHER", "KERNEL", "KERNEL", "KERNEL", "KERNEL", "DROP"]


def test_a_branch_stands_behind_its_first_kernel():
    assert listing([a, b, c], [T.dot(T.dot(a, b), c), T.dot(T.dot(c, b), a)], workers=2) == code("""
        TOGETHER the next 4
        KERNEL  C3 := Dot22(C0, C1)
        KERNEL  C4 := Dot22(C3, C2)
        KERNEL  C5 := Dot22(C2, C1)
        KERNEL  C6 := Dot22(C5, C0)
        DROP    C3, C5
        RESULT  C4, C6
        HALT""")


def branches_of(inputs, outputs):
    """The branches of each group of a program, as lists of numbers of kernels."""
    found, left = [], 0
    for instruction in phintys.function(inputs, outputs).program.symbolic():
        if instruction.name == "TOGETHER":
            found.append([])
            left = instruction.a
        elif left:
            left -= 1
            if instruction.flags & CONTINUES:
                found[-1][-1] += 1
            else:
                found[-1].append(1)
    return found


def product_of(first, *others):
    for other in others:
        first = T.dot(first, other)
    return first


def test_branches_are_cut_where_only_one_goes_on():
    assert branches_of([a, b, c], [product_of(a, b, c, a, b), product_of(c, b, a)]) == [[2, 2]]
    assert branches_of([a, b, c], [product_of(a, b, c, a, b)]) == []


def test_what_reads_two_branches_comes_after_the_group():
    assert branches_of([a, b, c], T.dot(product_of(a, b, c), product_of(c, b, a))) == [[2, 2]]


def test_a_kernel_that_examines_a_value_does_not_continue_its_branch():
    """The places of nonzero elements say how many elements are taken."""
    x, y = T.vectors("xy")
    outputs = [T.cumsum(x)[T.nonzero(T.cumsum(x) > 1)[0]], T.cumsum(y)[T.nonzero(T.cumsum(y) > 1)[0]]]
    function = phintys.function([x, y], outputs)
    for values in (VALUES[0][0], VALUES[1][0]), (VALUES[2][0], VALUES[0][1] / 100):
        for result, value in zip(function(*values), values):
            total = np.cumsum(value)
            np.testing.assert_array_equal(result, total[np.nonzero(total > 1)[0]])


@pytest.mark.parametrize("allow_gc", [True, False, "plan"], ids=str)
def test_branches_share_no_memory(allow_gc):
    """The example of the note on memory of MXNet: two paths from one value to one value. What one of them computes is
    never in memory that the other one uses, so both may run at the same time."""
    paths = [product_of(a, b, b, b), product_of(c, b, b, b)]
    outputs = [T.dot(*paths)]
    with phintys.config.change_flags(allow_gc=allow_gc):
        function = phintys.function([a, b, c], outputs)
    assert branches_of([a, b, c], outputs) == [[3, 3]]
    position, group = next((place, instruction) for place, instruction in enumerate(function.program.symbolic())
                           if instruction.name == "TOGETHER")
    lifetimes = Planner(function.program).lifetimes
    for member in function.program.symbolic()[position + 1:position + 1 + group.a]:
        first, *_, last = lifetimes.touched[member.writes()[0]]
        assert first == position <= last
    value = [value / 10 for value in VALUES]
    expected = np.linalg.multi_dot([value[0], *[value[1]] * 3, value[2], *[value[1]] * 3])
    for _ in range(4):
        np.testing.assert_allclose(function(*value)[0], expected)


@pytest.mark.parametrize("allow_gc", [True, False, "plan"], ids=str)
def test_a_late_member_of_a_branch_that_fails(allow_gc):
    with phintys.config.change_flags(allow_gc=allow_gc):
        function = phintys.function([a, b, c], [product_of(a, b, c), product_of(b, a, a)])
    expected = [VALUES[0] @ VALUES[1] @ VALUES[2], VALUES[1] @ VALUES[0] @ VALUES[0]]
    for _ in range(2):
        with pytest.raises(ValueError, match="Shape mismatch"):
            function(*VALUES[:2], VALUES[2][:7])
        for result, value in zip(function(*VALUES), expected):
            np.testing.assert_allclose(result, value)


@pytest.mark.parametrize("seed", range(12))
def test_random_branches(seed):
    random = np.random.default_rng(seed)
    steps = [lambda value, other: T.dot(value, other), lambda value, other: T.dot(value, other) + value,
             lambda value, other: T.cumsum(value, axis=0), lambda value, other: T.sort(value, axis=0),
             lambda value, other: T.concatenate([value[1:], other[:1]]), lambda value, other: value[::-1],
             lambda value, other: T.set_subtensor(value[3:5], other[:2]), lambda value, other: T.tanh(value)]
    outputs = []
    for start in (a, b, c, a):
        value = start
        for _ in range(random.integers(1, 7)):
            others = [a, b, c, *outputs]
            value = steps[random.integers(len(steps))](value, others[random.integers(len(others))] / 40)
        outputs.append(value)
    for allow_gc in (True, False, "plan"):
        with phintys.config.change_flags(allow_gc=allow_gc):
            function = phintys.function([a, b, c], outputs)
            with phintys.config.change_flags(workers=1):
                alone = phintys.function([a, b, c], outputs)
        for _ in range(3):
            for result, value in zip(function(*VALUES), alone(*VALUES)):
                np.testing.assert_allclose(result, value, rtol=1e-9)


def test_one_worker_takes_one_kernel_at_a_time():
    assert "TOGETHER" not in dict(listing([a, b, c], [T.dot(a, b), T.dot(b, c)], workers=1))


# Name → (outputs, whether there is a group)
GRAPHS = {
    "independent": ([T.dot(a, b), T.dot(b, c), T.dot(c, a)], True),
    "a chain": ([T.dot(T.dot(a, b), c)], False),
    "two chains": ([T.dot(T.dot(a, b), c), T.dot(T.dot(c, b), a)], True),
    "after elementwise work": ([T.dot(T.exp(a), b), T.dot(T.exp(b), c)], True),
    "gradients": (list(T.grad(T.tanh(T.dot(T.tanh(T.dot(a, b)), c)).sum(), [a, b, c])), True),
    "with other kernels": ([T.cumsum(a, axis=0), T.dot(a, b), T.concatenate([b, c])], True),
    "a vector": ([T.dot(a, b[0]), T.dot(b, c[0]), T.dot(a[0], b[0])], True),
    "strided": ([T.dot(a[::-1, ::2], b[::2]), T.dot(b[:, ::-2].T, c)], True),
    "nothing to share": ([T.exp(a) + b], False),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("allow_gc", [True, False, "plan"], ids=str)
@pytest.mark.parametrize("size", [3, 90])
def test_values(name, allow_gc, size):
    outputs, grouped = GRAPHS[name]
    values = [value[:size, :size] for value in VALUES]
    with phintys.config.change_flags(allow_gc=allow_gc):
        function = phintys.function([a, b, c], outputs, on_unused_input="ignore")
        with phintys.config.change_flags(workers=1):
            alone = phintys.function([a, b, c], outputs, on_unused_input="ignore")
    assert ("TOGETHER" in function.explain("instructions")) == grouped
    expected = alone(*values)
    for _ in range(3):
        for result, value in zip(function(*values), expected):
            np.testing.assert_allclose(result, value, rtol=1e-12)


def test_a_kernel_that_overwrites_what_another_reads_is_in_no_group_with_it():
    weights = phintys.shared(VALUES[2].copy())
    total = T.dot(a, b)
    function = phintys.function([a, b], [T.dot(total, a), 0.5 * T.dot(a, b) + total],
                                updates=[(weights, weights - T.dot(a, b))])
    first, second = function(*VALUES[:2])
    product = VALUES[0].dot(VALUES[1])
    np.testing.assert_allclose(first, product.dot(VALUES[0]))
    np.testing.assert_allclose(second, 1.5 * product)
    np.testing.assert_allclose(weights.get_value(), VALUES[2] - product)


@pytest.mark.parametrize("allow_gc", [True, False, "plan"], ids=str)
def test_a_member_that_fails(allow_gc):
    with phintys.config.change_flags(allow_gc=allow_gc):
        function = phintys.function([a, b, c], [T.dot(a, b), T.dot(b, c)])
    function(*VALUES)
    gc.collect()                # what other tests have left is not released in between
    live = None
    for _ in range(3):
        with pytest.raises(ValueError, match="Shape mismatch") as failure:
            function(VALUES[0], VALUES[1], VALUES[2][:7])
        assert "Dot22(b, c)" in str(failure.value)
        del failure
        live = pool_statistics()["live_buffers"] if live is None else live
        assert pool_statistics()["live_buffers"] == live
    np.testing.assert_allclose(function(*VALUES)[1], VALUES[1].dot(VALUES[2]))


def test_large_groups_are_cut():
    function = phintys.function([a, b], [T.dot(a * number, b) for number in range(2, 42)])
    assert function.explain("instructions").count("TOGETHER") >= 2
    for number, result in enumerate(function(*VALUES[:2]), 2):
        np.testing.assert_allclose(result, number * VALUES[0].dot(VALUES[1]))


@pytest.mark.parametrize("c", [0, 1])
def test_what_a_branch_has_chosen_is_not_overwritten_beside_its_reader(c):
    condition, m = T.iscalar("c"), T.matrix("m")
    v = T.dot(m, m)
    chosen = ifelse(condition, v, T.exp(m))
    with phintys.change_flags(workers=2):
        function = phintys.function([condition, m], [T.dot(chosen, m), T.set_subtensor(v[1:3], m[:2])])
    value = np.arange(16.0).reshape(4, 4) / 16
    first, second = function(c, value)
    np.testing.assert_allclose(first, (value.dot(value) if c else np.exp(value)).dot(value))
    np.testing.assert_array_equal(second[1:3], value[:2])
