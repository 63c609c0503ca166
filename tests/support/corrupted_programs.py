"""Files of saved programs that are changed at random: flipped bits, cut off, exchanged, spliced with others.

``loads`` must refuse each with one clear error. It is tried in a process of its own, with little memory and a limit of
time, so that a crash, a large allocation and a loop are seen:

    python -I tests/support/corrupted_programs.py SEED COUNT
"""
import os
import resource
import sys

import numpy

import phintys
import phintys.tensor as T
from phintys import sparse
from phintys.tensor.shared_randomstreams import RandomStreams
from phintys.vm.files.operands import check_instruction
from phintys.vm.files.programs import dumps, loads
from phintys.vm.files.values import FileError
from phintys.vm.linking.verifier import ProgramError, verify

MOST_SECONDS, MOST_BYTES = 300, 4 << 30
IS_SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")        # a build in PYTHONPATH, see `make stress-files`
ISOLATED = [] if IS_SANITIZED else ["-I"]


def programs():
    """Programs of all kinds: views, updates, loops, branches, random numbers, sparse matrices, calls of Python."""
    x, m, n, c = T.dvector("x"), T.dmatrix("m"), T.lscalar("n"), T.bscalar("c")
    w = phintys.shared(numpy.arange(3.0), name="w")
    rows, updates = phintys.scan(lambda s, a: T.tanh(s * a), outputs_info=[T.ones_like(x)], non_sequences=[x],
                                 n_steps=n)
    stream = RandomStreams(3)
    draw = stream.normal(size=(3,))
    s = sparse.csr_matrix("s", "float64")
    image, kernel = T.tensor4("image"), T.tensor4("kernel")
    return [phintys.function(inputs, outputs, updates=changes).program for inputs, outputs, changes in (
        ([x], [x[::2], T.exp(x).sum()], [(w, w + x)]),
        ([x, n], rows[-1], updates),
        ([c, x], phintys.ifelse.ifelse(c, T.log(x), x - 1), None),
        ([x], x + draw, stream.updates()),
        ([s, m], sparse.dot(s, m), None),
        ([m], [T.dot(m, m.T), m.argmax(axis=0), T.sort(m)], None),
        ([image, kernel], T.grad(T.nnet.conv2d(image, kernel).sum(), [image, kernel]), None))]


def changed(files, rng):
    """A file with one to three changes."""
    data = bytearray(files[rng.integers(len(files))])
    for _ in range(rng.integers(1, 4)):
        kind, place = rng.integers(8), int(rng.integers(len(data) + 1))
        length = int(rng.integers(1, 40))
        other = files[rng.integers(len(files))]
        if kind == 0 and data:
            data[place % len(data)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[place:place + length] = rng.integers(0, 256, len(data[place:place + length]), "uint8").tobytes()
        elif kind == 2:
            del data[place:]
        elif kind == 3:
            del data[place:place + length]
        elif kind == 4:
            data[place:place] = data[:length]
        elif kind == 5:
            data[place:] = other[int(rng.integers(len(other))):]
        elif kind == 6:
            data[place:place + length] = b"\xff" * length
        else:
            source = int(rng.integers(len(data) + 1))
            data[place:place + length], data[source:source + length] = (
                data[source:source + length], data[place:place + length])
    return bytes(data)


def mangled(program, rng):
    """A loaded program with one wrong number in what the interpreter reads."""
    kind = rng.integers(6)
    if kind == 0:
        code = bytearray(program.code)
        code[int(rng.integers(len(code)))] ^= 1 << int(rng.integers(8))
        program.code = bytes(code)
    elif kind == 1 and len(program.pool):
        program.pool[int(rng.integers(len(program.pool)))] = int(rng.choice([-1, len(program.cells), 1 << 30]))
    elif kind == 2:
        at, field = int(rng.integers(len(program.cells))), ("typenum", "ndim", "donor", "place")[rng.integers(4)]
        wrong = int(rng.choice([-7, 77, 1 << 30]))
        program.cells[at] = program.cells[at]._replace(**{field: wrong})
    elif kind == 3:
        program.n_arguments += int(rng.choice([-1, 1, 1000]))
    elif kind == 4:
        program.code = program.code[:-int(rng.integers(1, len(program.code)))]
    else:
        program.n_results += int(rng.choice([-1, 1, 1 << 30]))
    return kind


def refused(data):
    """Whether ``loads`` says that a file is corrupted."""
    try:
        loads(data)
    except FileError:
        return True
    return False


def main(seed, count):
    rng = numpy.random.default_rng(int(seed))
    files = [dumps(program) for program in programs()]
    if not IS_SANITIZED:                                        # AddressSanitizer maps terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    for number in range(int(count)):
        data = changed(files, rng)
        assert data in files or refused(data), f"file {number} of seed {seed} was loaded"
    for number in range(int(count) // 10):
        program = loads(files[rng.integers(len(files))])
        kind = mangled(program, rng)
        try:
            verify(program, check_instruction)
            accepted = True
        except ProgramError:
            accepted = False
        assert not accepted or kind == 0, f"program {number} of seed {seed}, changed in way {kind}, was accepted"
    print("all were refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
