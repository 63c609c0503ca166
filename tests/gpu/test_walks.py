"""Walks over elements: which of the three kernels takes what, work that is too much for one launch, and their code."""
import re

import cases
import numpy
import pytest
import test_cases
from support_gpu import at_device, machine_code

import phintys
import phintys.tensor as T
from phintys.gpu.kernels.elementwise_source import elementwise_walk
from phintys.gpu.kernels.walk_kernel import set_most_items
from phintys.gpu.runtime import compiler
from phintys.gpu.runtime.copies import copy_walk
from phintys.ops.elementwise.scalar_code import ScalarCode

SHAPES = {                      # an expression, the shapes of its operands, the kernels
    "one order": (lambda x, y: x.T + y.T, [(40, 33), (40, 33)], {"rows", "tiles"}),
    "flat": (lambda x, y: x + y, [(40, 33), (40, 33)], {"rows"}),
    "a long row": (lambda x, b: x + b, [(5, 1001), (1001,)], {"rows"}),
    "a short row of vectors": (lambda x, b: x + b, [(50, 8), (8,)], {"rows"}),
    "a short row": (lambda x, b: x + b, [(50, 10), (10,)], {"counted"}),
    "channels": (lambda x, b: x + b.dimshuffle("x", 0, "x", "x"), [(2, 3, 7, 7), (3,)], {"counted"}),
    "transposed": (lambda x, y: x.T + y, [(40, 33), (33, 40)], {"tiles"}),
    "transposed in a batch": (lambda x, y: x.dimshuffle(0, 2, 1) + y, [(3, 40, 33), (3, 33, 40)], {"tiles"}),
    "too narrow for tiles": (lambda x, y: x.T + y, [(3, 400), (400, 3)], {"counted"}),
}
KERNEL = re.compile(r"void (?:__launch_bounds__\([\w, ]+\) )?(\w+)\(const __grid_constant__ Walk")


@pytest.mark.parametrize("name", SHAPES)
def test_which_kernel_is_chosen(device, monkeypatch, name):
    expression, shapes, expected = SHAPES[name]
    monkeypatch.setattr(compiler, "_compiled", {})
    with at_device():
        values = [phintys.shared(numpy.zeros(shape, "float32"), target="cuda") for shape in shapes]
        result = phintys.shared(numpy.zeros((1,) * len(shapes[0]), "float32"), target="cuda")
        phintys.function([], [], updates=[(result, expression(*values))])()
    found = {kernel for source, *_ in compiler._compiled for kernel in KERNEL.findall(source)}
    assert found - {"rows"} == expected - {"rows"}


DIVIDED = [case for case in cases.CASES if case[0] in (
    "chain", "lengths", "lengths of rows", "rows and columns", "channels", "misaligned", "rows that are not aligned",
    "tiles", "tiles of int8", "rank 4", "reshape", "join", "set a part", "add to a part")]


def launches(case, device):
    before = device.counts()["launches"] if device.is_stand_in else 0
    test_cases.check(case, device)
    return device.counts()["launches"] - before if device.is_stand_in else 0


@pytest.mark.parametrize("case", DIVIDED, ids=[case[0] for case in DIVIDED])
def test_much_work_is_divided(device, case):
    """More than 2**31 elements, in small."""
    plain = launches(case, device)
    before = set_most_items(7)
    try:
        assert launches(case, device) > plain or not device.is_stand_in
    finally:
        set_most_items(before)


def test_numbers_become_a_vector_by_few_launches(device):
    if not device.is_stand_in:
        pytest.skip("only the stand-in counts")
    with at_device():
        x = phintys.shared(numpy.arange(70, dtype="float32"))
        out = phintys.shared(numpy.zeros(70, "float32"))
        function = phintys.function([], [], updates=[(out, T.stack([x[i] for i in range(70)]))])
    phintys.gpu.wait()
    before = device.counts()["launches"]
    function()
    phintys.gpu.wait()
    assert device.counts()["launches"] - before == 3
    assert out.get_value().tolist() == x.get_value().tolist()


def layout(random, lengths, dtype):
    """An array, and a function of it whose result is a view of some lengths: axes in any order, some broadcast, some
    with steps and parts left out."""
    axes = [(int(axis), random.rand() < 0.2) for axis in random.permutation(len(lengths))]
    shape, index = [], []
    for axis, broadcast in axes:
        step = random.choice([1, 1, 1, 1, 2, -1, -2]) if random.rand() < 0.5 else 1
        before, after = random.randint(0, 3, 2) if random.rand() < 0.5 else (0, 0)
        shape.append(1 if broadcast else before + (lengths[axis] - 1) * abs(step) + 1 + after)
        part = slice(int(before), int(shape[-1] - after), int(abs(step)))
        index.append((0, None) if broadcast else (part, slice(None, None, 1 if step > 0 else -1)))
    places = [axis for axis, broadcast in axes if not broadcast]

    def view(x):
        parts = x[tuple([part for part, _ in index])][tuple([turn for _, turn in index if turn is not None])]
        return parts.dimshuffle(*[places.index(axis) if axis in places else "x" for axis in range(len(lengths))])
    return random.uniform(-50, 50, shape).astype(dtype), view


@pytest.mark.parametrize("seed", range(24))
def test_any_layout(device, seed):
    """Elementwise work, copies, and copies to parts."""
    random = numpy.random.RandomState(seed)
    lengths = random.choice([1, 2, 3, 5, 8, 16, 17, 20, 33, 40, 64, 70], random.randint(2, 5))
    while lengths.prod() > 20000:
        lengths[random.randint(len(lengths))] = 2
    dtypes = random.choice(["float32", "float32", "float16", "int8", "float64", "complex128"], 2)
    (x, of_x), (y, of_y) = [layout(random, lengths, dtype) for dtype in dtypes]

    def expression(x, y):
        x, y = of_x(x), of_y(y)
        return [x * y + x, T.alloc(x, *lengths), T.concatenate([x + y, y + x], axis=seed % len(lengths))]
    test_cases.check(("", expression, x, y), device)


def added(dtype):
    code = ScalarCode([dtype] * 2, (), [(numpy.add, (0, 1), (dtype,) * 3)], [2])
    return elementwise_walk(code, [(False, False)] * 2, [False, False])


@pytest.mark.parametrize("walk, reads", [(added("float32"), 2), (added("float16"), 2), (added("int8"), 2),
                                         (added("float64"), 2), (copy_walk("uint32"), 1), (copy_walk("uint8"), 1)],
                         ids=["float32", "float16", "int8", "float64", "copy of 4 bytes", "copy of a byte"])
def test_the_code_has_vectors_and_no_local_memory(walk, reads):
    for source in walk.sources():
        code = machine_code(source)
        assert ".local" not in code
        assert code.count("ld.global.v4.u32") >= reads and code.count("st.global.v4.u32") >= 1
        assert "div." not in code and "rem." not in code
