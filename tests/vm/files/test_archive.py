"""Files of saved programs that were changed or cut off are refused with one error, and never reach the interpreter."""
import pickle
import subprocess
import sys
from pathlib import Path

import corrupted_programs
import numpy
import pytest
from program_callables import callable_of

import phintys
import phintys.tensor as T
from phintys.vm.files import programs
from phintys.vm.files.archive import HEADER
from phintys.vm.files.programs import dumps, loads
from phintys.vm.files.values import FileError
from phintys.vm.linking.verifier import ProgramError

x, y = T.dvectors("x", "y")


def run_in_a_child(seed, count):
    script = [*corrupted_programs.ISOLATED, corrupted_programs.__file__]
    run = subprocess.run([sys.executable, *script, str(seed), str(count)], capture_output=True, text=True, check=False)
    assert run.stdout == "all were refused\n", (seed, count, run.returncode, run.stderr[-2000:])


def test_corrupted_files():
    run_in_a_child(7, 1000)


@pytest.mark.long
def test_many_corrupted_files():
    run_in_a_child(numpy.random.SeedSequence().entropy % (1 << 31), 200000)


def test_every_prefix_and_every_byte_of_a_small_file():
    data = dumps(phintys.function([x], x + 1).program)
    for length in range(len(data)):
        with pytest.raises(FileError, match="damaged|are not a saved program"):
            loads(data[:length])
    for place in range(len(data)):
        with pytest.raises(FileError, match="damaged|are not a saved program"):
            loads(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1:])
    with pytest.raises(FileError, match=rf"damaged: it has {len(data) + 1} bytes, its header says {len(data)}"):
        loads(data + b"x")


def test_files_of_others_are_named(monkeypatch):
    program = phintys.function([x], x + 1).program
    with pytest.raises(FileError, match="are not a saved program: they do not begin with the header of one"):
        loads(pickle.dumps(program))
    data = bytearray(dumps(program))
    data[16] += 1
    with pytest.raises(FileError, match="in the format 2 of another version of phintys: this one reads the format 1"):
        loads(bytes(data))
    assert callable_of(loads(memoryview(dumps(program))), single=True)([1.0]).tolist() == [2.0]
    monkeypatch.setattr(programs, "BYTECODE", "another")
    data = dumps(program)
    monkeypatch.undo()
    with pytest.raises(FileError, match=f"written by phintys {phintys.__version__}, whose bytecode is another"):
        loads(data)
    assert HEADER.size < 100 and Path(corrupted_programs.__file__).exists()


@pytest.mark.parametrize(("change", "message"), [
    ({"typenum": 999}, "type number 999, 1 dimensions"), ({"typenum": 7}, "type number 7, 1 dimensions"),
    ({"ndim": 2}, "2 dimensions and place"), ({"ndim": -1}, "-1 dimensions"), ({"ndim": 1 << 20}, "1048576 dimensions"),
    ({"place": 5}, "place 5"), ({"kind": "nothing"}, "unknown kind 'nothing'"), ({"kind": "value"}, "empty cell C0"),
    ({"donor": 99}, "the memory of C99, but there are 3 cells"), ({"access": "all"}, "unknown access 'all'"),
])
def test_layouts_of_cells_are_checked(change, message):
    program = loads(dumps(phintys.function([x, y], T.dot(x, y)).program))
    program.cells[0] = program.cells[0]._replace(**change)
    with pytest.raises(ProgramError, match=message):
        callable_of(program)


@pytest.mark.parametrize(("name", "value", "message"), [
    ("code", b"abc", "has 3 bytes, which are no whole instructions"), ("code", b"", "does not end with HALT"),
    ("n_arguments", 1, "there are 1 arguments, but 2 types"), ("n_results", 5, "has 1 results instead of 5"),
    ("argument_types", [], "2 arguments, but 0 types"), ("kernels", [], "there is no kernel K0"),
    ("pool", [], "lie outside the pool"), ("pool", None, "malformed: TypeError"), ("cells", [], "malformed|no cell C0"),
])
def test_lists_of_a_program_are_checked(name, value, message):
    program = loads(dumps(phintys.function([x, y], T.dot(x, y)).program))
    setattr(program, name, value)
    with pytest.raises(ProgramError, match=message):
        callable_of(program)


def test_a_key_is_needed_on_both_sides():
    function = phintys.function([x], x + T.constant(numpy.arange(3.0))).program
    data = dumps(function, key=b"key")
    assert callable_of(loads(data, key=b"key"), single=True)([1.0, 1.0, 1.0]).tolist() == [1.0, 2.0, 3.0]
    for key, message in [(b"other", "damaged, or was written with another key"), (None, "with a key, and is read w")]:
        with pytest.raises(FileError, match=message):
            loads(data, key=key)
    with pytest.raises(FileError, match="without a key, and is read with one"):
        loads(dumps(function), key=b"key")
    for place in range(0, len(data), 7):
        with pytest.raises(FileError):
            loads(data[:place] + bytes([data[place] ^ 1]) + data[place + 1:], key=b"key")
