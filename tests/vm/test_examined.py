"""``prepare`` of each kernel reads the values of those inputs that the kernel examines, and of no others.

All other inputs lie in pages that cannot be read. A kernel that reads one of them ends its process; so the kernels are
tried in a process of their own, which is started again after the one that ended it. Besides, a kernel that is bound by
other values computes what one that is not bound computes.
"""
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from kernel_cases import CASES, MADE, W, made

import phintys.tensor as T
from phintys.vm.abi import run_kernel

SUPPORT = Path(__file__).parents[1] / "support"


def outcomes(end, first=0, all_hidden=False):
    """Case → "well", or how its process ended."""
    found = {}
    while first < end:
        program = (f"import sys; sys.path.insert(0, {str(SUPPORT)!r}); import protected_pages; "
                   f"protected_pages.try_from({first}, {all_hidden})")
        child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        lines = [line.split() for line in child.stdout.splitlines()]
        assert lines, child.stderr
        found.update({int(line[0]): line[1] if len(line) > 1 else (child.returncode, child.stderr) for line in lines})
        first = int(lines[-1][0]) + 1
        if all_hidden:
            break
    return found


@pytest.fixture(scope="module")
def prepared():
    return outcomes(len(CASES))


def title(position):
    return f"{CASES[position][0]}-{position}"


@pytest.mark.parametrize("position", range(len(CASES)), ids=title)
def test_prepare_reads_only_what_is_examined(prepared, position):
    assert prepared[position] == "well"


def test_a_kernel_that_reads_more_is_found():
    position = [name for name, *_ in CASES].index("ReshapeKernel")
    ended, message = outcomes(position + 1, position, all_hidden=True)[position]
    assert ended == -signal.SIGSEGV or "AddressSanitizer" in message       # which ends the process in its own way


# ---- here ------------------------------------------------------------------------------------------------------------
def test_every_kernel_is_tried_and_says_what_it_examines():
    assert {name for name, *_ in CASES} == {*MADE}
    assert [title(position) for position in range(len(CASES)) if made(position)[0].examined is None] == []


LAYOUTS = [lambda value: np.array(value, order="C"), lambda value: np.array(value, order="F"),
           lambda value: np.repeat(value, 2, axis=-1)[..., ::2] if value.ndim else value.copy()]


@pytest.mark.parametrize("position", range(len(CASES)), ids=title)
def test_a_bound_kernel_computes_the_same(position):
    kernel, inputs, layouts, hidden = made(position)
    if type(kernel).__name__ == "AllocEmptyKernel":
        return                                      # anything may be in there
    for layout in LAYOUTS:
        given = [layout(value) for value in inputs]
        others = [layout(np.flip(value) if index in hidden else value) for index, value in enumerate(inputs)]
        expected = run_kernel(kernel, given, layouts, poison=0xff)
        results = run_kernel(kernel, given, layouts, poison=0x7f, bound_by=others)
        for result, wanted in zip(results, expected):
            assert result.shape == wanted.shape and result.dtype == wanted.dtype
            assert result.tobytes() == wanted.tobytes()


x, y, k, rows = T.dmatrix(), T.dvector(), T.lscalar(), T.lvector()
MAY_FOLLOW_COMMIT = {
    "part": lambda: T.set_subtensor(x[k:, 1], y), "rows": lambda: T.inc_subtensor(x[rows], y),
    "elements": lambda: T.set_subtensor(x[rows, k:], y), "all": lambda: T.inc_subtensor(x[:], y),
    "diagonal": lambda: T.fill_diagonal(x, 2.0), "offset": lambda: T.fill_diagonal_offset(x, 2.0, k),
    "triangle": lambda: T.tril(x, k), "sum": lambda: x + y,
}


@pytest.mark.parametrize("name", MAY_FOLLOW_COMMIT)
def test_ops_and_kernels_examine_the_same(name):
    """What runs after COMMIT is prepared before it: the graph asks the op what is examined then."""
    node = MAY_FOLLOW_COMMIT[name]().owner
    first = len(node.inputs) if node.op.first_examined is None else node.op.first_examined
    assert node.op.cannot_fail
    assert node.op.make_kernel(node).examined == tuple(range(first, len(node.inputs)))


def test_bound_by_must_have_the_layouts_of_the_inputs():
    kernel, inputs, layouts, _ = made([name for name, *_ in CASES].index("ElementwiseKernel"))
    with pytest.raises(ValueError, match="shapes and strides"):
        run_kernel(kernel, inputs, layouts, bound_by=[W])
