"""Kernels of saved programs are compared with the rules of their operands before they run; forged files end nothing."""
import subprocess
import sys

import forged_kernels
import forged_programs
import numpy
import pytest
from corrupted_programs import ISOLATED
from forged_kernels import CLASSES
from kernel_cases import BASES, CASES, MADE
from program_callables import callable_of

import phintys
import phintys.tensor as T
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.vm.abi import Kernel
from phintys.vm.files import kernel_operands
from phintys.vm.files.operands import RULES, OperandError, accepted, check_operands, described
from phintys.vm.files.programs import dumps, loads
from phintys.vm.files.values import FileError
from phintys.vm.linking.verifier import ProgramError
from phintys.vm.loops.loop_kernel import LoopKernel

F64, F32 = 12, 11
x, m = T.dvector("x"), T.dmatrix("m")


def in_a_child(script, *arguments):
    run = subprocess.run([sys.executable, *ISOLATED, script.__file__, *map(str, arguments)], capture_output=True,
                         text=True, check=False)
    assert run.stdout == "True True\n", (arguments, run.returncode, run.stdout[-200:], run.stderr[-2000:])


def test_each_kernel_has_a_rule():
    assert {*RULES} == {*MADE, *BASES & {"RecurrenceBody", "ScalarBody"}, "ScalarCode", "LoopKernel"}
    for name in MADE:
        accepted(CLASSES[name](*MADE[name]))
    assert kernel_operands.RULES is RULES


@pytest.mark.parametrize("position", range(len(CASES)))
def test_what_runs_is_accepted(position):
    name, arguments, inputs, outputs = CASES[position]
    kernel = CLASSES[name](*arguments)
    given = [(numpy.asarray(value).dtype.num, numpy.ndim(value)) for value in inputs]
    results = [(numpy.dtype(dtype).num, rank) for rank, dtype in outputs]
    pattern = accepted(kernel)
    check_operands(name, given, results, pattern)
    with pytest.raises(OperandError, match=f"{name} has {len(given) + 1} inputs instead of {len(given)}"):
        check_operands(name, [*given, (F64, 0)], results, pattern)
    with pytest.raises(OperandError, match=f"{name} has {len(results) - 1} outputs instead of {len(results)}"):
        check_operands(name, given, results[1:], pattern)
    with pytest.raises(OperandError, match=f"{name} has an object of .* among its outputs, at position 0"):
        check_operands(name, given, [(-1, results[0][1]), *results[1:]], pattern)


@pytest.mark.parametrize(("name", "arguments", "message"), [
    ("EyeKernel", (numpy.zeros(9),), "no number"),
    ("DimShuffleKernel", (2, [0, 7]), "an axis is 7"), ("DimShuffleKernel", (2, [1, 1]), "an axis is there twice"),
    ("SubtensorKernel", ([(True, ("operand", 9), None, None)], 1), "an operand is 9"),
    ("SubtensorKernel", ([(True, None, None, None)], 0), "an integer that is none"),
    ("SubtensorKernel", ([(True, 1, (), None)], 0), "not enough values"), ("RowsKernel", ("float64",), "a dtype is"),
    ("AdvancedSubtensorKernel", ([("array", 1, "int64", 99)], 0, 2), "a rank is 99"),
    ("EqualLengthsKernel", (1, (((5, 0, "x"),),), ((),), ()), "an operand is 5"),
    ("ConvolutionKernel", ("float64", "forward", 2, "half", (0, 1), (1, 1), True, 1, False, [None] * 4, [None] * 4),
     "steps is 0"), ("JoinKernel", (), "missing 2 required positional arguments"),
    ("AllocKernel", (1, 2, 3, 4), "positional arguments"),
    ("DrawKernel", ("beta", 3, [("a", "above 0")]), "parameters of another distribution"),
    ("ScalarCode", (["float64"], [], [(numpy.modf, [0], ["float64"] * 2)], [1]), "a loop <ufunc 'modf'>"),
    ("ScalarCode", (["float64"], [numpy.zeros(0)], [], [1]), "a constant that is no number"),
    ("ElementwiseKernel", (ScalarCode(["float64"], outputs=[0]), [(False,) * 99]), "a rank is 99"),
    ("SumStretchedKernel", (0, CLASSES["NonzeroKernel"]()), "a sum that is none"),
])
def test_arguments_are_checked_before_a_kernel_is_made(name, arguments, message):
    kind = ScalarCode if name == "ScalarCode" else CLASSES[name]
    with pytest.raises(OperandError, match=message):
        described(kind, arguments, {})


@pytest.mark.parametrize("lengths", [[], [x.shape[0]] * 2, [x]])
def test_what_computes_lengths_returns_as_many_as_are_asked_for(lengths):
    """Where a loop does no step: more would be read from beside its results."""
    body, asked = [phintys.function([x], results, on_unused_input="ignore").program
                   for results in ([x[x > 0]], lengths)]
    with pytest.raises(OperandError, match="lengths that are no numbers"):
        described(LoopKernel, (body, 1, (), 1, 0, False, (), ((None,),), "a loop"), {"lengths": asked})


@pytest.mark.parametrize(("name", "inputs", "outputs", "message"), [
    ("ComplexPartsKernel", [(14, 1)], [(F64, 2)], "accepts part of 2 dimensions"),
    ("ComplexPartsKernel", [(F64, 1)], [(F32, 2)], "accepts C of any number of dimensions"),
    ("NonzeroKernel", [(0, 0)], [(7, 2)], "accepts bool of at least 1 dimensions"),
])
def test_letters_stand_for_dtypes_of_a_kind(name, inputs, outputs, message):
    kernel = CLASSES[name](*MADE[name])
    with pytest.raises(OperandError, match=message):
        check_operands(name, inputs, outputs, accepted(kernel))


@pytest.mark.parametrize(("name", "change"), [
    ("known_cell_texts", lambda texts: texts[:-1]), ("known_instruction_texts", lambda texts: [7, *texts[1:]]),
    ("calls", lambda calls: [7]), ("name", lambda name: 7),
    ("known_cell_texts", lambda texts: [{"record": [*texts[0]["record"][:1], *[[7]] * 9][:len(texts[0]["record"])]},
                                        *texts[1:]])])
def test_texts_and_lists_of_a_program_are_checked(name, change):
    from phintys.vm.files import archive

    content, arrays = archive.unpack(dumps(phintys.function([x], x + 1, name="f").program))
    written = content["value"]["known"][1]["program"]
    written[name] = change(written[name])
    with pytest.raises(FileError, match="in the place of a|not as many texts|names that are no text"):
        loads(b"".join(archive.pack(content, arrays)))


def test_classes_without_a_rule():
    class Foreign(Kernel):
        pass

    assert described(Foreign, (), {}) is None                       # of a module that the reader has named
    Foreign.__module__ = "phintys.gpu.kernels.some_kernel"          # refused by name, before
    assert described(Foreign, (), {}) is None
    Foreign.__module__ = "phintys.ops.some_kernel"
    with pytest.raises(OperandError, match="nothing says which operands a Foreign accepts"):
        described(Foreign, (), {})


def changed(function, **changes):
    """A program that was loaded, with a cell of other layout: {number: (field, value)}."""
    program = loads(dumps(function.program))
    for number, (field, value) in changes.pop("cells", {}).items():
        program.cells[number] = program.cells[number]._replace(**{field: value})
    for name, value in changes.items():
        setattr(program, name, value)
    return program


@pytest.mark.parametrize(("outputs", "changes", "message"), [
    ([x.sum()], {"cells": {1: ("ndim", 1)}}, "ReductionKernel has float64 of 1 dimensions among its outputs"),
    ([x * x], {"cells": {1: ("typenum", F32)}}, "accepts float64 of 1 dimensions"),
    ([m.T], {"views": {}}, "DimShuffleKernel may return a view of an operand, which the program does not say"),
    ([m[0]], {"cells": {1: ("ndim", 3)}}, "SubtensorKernel has float64 of 3 dimensions"),
    ([T.dot(m, m)], {"cells": {1: ("donor", 0)}}, "ProductKernel must not overwrite C0"),
])
def test_operands_of_kernels_are_checked(outputs, changes, message):
    inputs = [x] if outputs[0].owner.inputs[0] is x else [m]
    function = phintys.function(inputs, outputs)
    callable_of(changed(function))
    with pytest.raises(ProgramError, match=message):
        callable_of(changed(function, **changes))


def test_what_moves_values_moves_equal_types():
    state = phintys.shared(numpy.ones(3))
    program = loads(dumps(phintys.function([x], [], updates=[(state, x)]).program))
    names = [instruction.name for instruction in program.symbolic()]
    cell = next(number for number, layout in enumerate(program.cells) if layout.kind == "value")
    assert {"COPY", "ALIAS", "OWN"} & {*names}
    program.cells[cell] = program.cells[cell]._replace(typenum=F32)
    with pytest.raises(ProgramError, match="cannot have the value of|are not those of"):
        callable_of(program)


@pytest.mark.parametrize(("change", "message"), [
    (lambda tree: tree.update(made=tree.pop("made")[:2] + [{"dict": [["layout", {"tuple": [7, 1, 0]}]]}]),
     "a TensorType is described as no TensorType is"),
    (lambda tree: tree.update(plain=[tree.pop("made")[0], [], {"dict": [["dtype", "float32"]]}]),
     "a TensorType is described as no TensorType is"),
])
def test_types_are_described_as_they_pickle(change, message):
    from phintys.vm.files import archive

    content, arrays = archive.unpack(dumps(phintys.function([x], x + 1).program))
    written = content["value"]["known"][1]["program"]["argument_types"][0]
    change(written["known"][1] if "known" in written else written)
    with pytest.raises(FileError, match=message):
        loads(b"".join(archive.pack(content, arrays)))


def test_kernels_with_wrong_operands():
    in_a_child(forged_kernels, 7, 1500)


def test_forged_files():
    in_a_child(forged_programs, 7, 1000)


@pytest.mark.long
def test_many_kernels_with_wrong_operands():
    in_a_child(forged_kernels, numpy.random.SeedSequence().entropy % (1 << 31), 100_000)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_many_forged_files(part):
    in_a_child(forged_programs, numpy.random.SeedSequence().entropy % (1 << 31), 10_000)
