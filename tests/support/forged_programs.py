"""Files of saved programs with the right digests and a wrong content: numbers, names, lists and whole parts exchanged.

``load`` must refuse them with one error, or what it returns must run or raise an error; a crash ends the process:

    python -I tests/support/forged_programs.py SEED COUNT
"""
import copy
import os
import resource
import sys
import warnings
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).parent))
from corrupted_programs import programs
from program_callables import callable_of

from phintys.vm.files import archive
from phintys.vm.files.programs import dumps, loads
from phintys.vm.files.values import FileError
from phintys.vm.linking.verifier import ProgramError
from phintys.vm.program import Program

MOST_SECONDS, MOST_BYTES = 600, 4 << 30
NUMBERS = (-(1 << 40), -2, -1, 0, 1, 2, 3, 7, 11, 12, 40, 1 << 40)
TEXTS = ("", "x", "float32", "float64", "int64", "mutable", "value", "constant", "add")


def paths(tree, before=()):
    """The places in a tree of JSON."""
    yield before
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield from paths(tree[key], (*before, key))


def at(tree, path):
    """What is at a place."""
    for key in path:
        tree = tree[key]
    return tree


def forged(files, places, rng):
    """A file of which one to three places have another content, which may be that of another place or file."""
    number = int(rng.integers(len(files)))
    content, arrays = files[number]
    content, arrays = copy.deepcopy(content), list(arrays)
    for _ in range(rng.integers(1, 4)):
        path = places[number][int(rng.integers(1, len(places[number])))]
        try:
            old, parent = at(content, path), at(content, path[:-1])
        except (IndexError, KeyError, TypeError):
            continue                                    # a change before has taken the place away
        kind = rng.integers(5)
        if isinstance(old, bool):
            new = not old
        elif isinstance(old, int):
            new = old + int(rng.choice((-1, 1))) if kind < 2 else int(rng.choice(NUMBERS))
        elif isinstance(old, str) and kind == 0:
            new = str(rng.choice(TEXTS))
        elif isinstance(old, list) and old and kind == 1:
            new = [*old, old[int(rng.integers(len(old)))]]
        elif isinstance(old, list) and old and kind == 2:
            new = old[:-1]
        else:
            source = int(rng.integers(len(files))) if kind == 3 else number
            new = copy.deepcopy(at(files[source][0], places[source][int(rng.integers(1, len(places[source])))]))
        parent[path[-1]] = new
    if arrays and rng.integers(6) == 0:
        which = int(rng.integers(len(arrays)))
        arrays[which] = (arrays[which].reshape(-1), arrays[which].astype("float32"), arrays[which][None])[
            rng.integers(3)]
    return b"".join(archive.pack(content, arrays))


def arguments_for(types, rng):
    """A value for each argument: small arrays, whose lengths are alike."""
    values = []
    for type_ in types:
        layout = getattr(type_, "layout", None)
        if layout is None:
            values.append(None)
            continue
        values.append(numpy.ones((int(rng.integers(1, 4)),) * layout[1], type_.dtype))
    return values


def main(seed, count, path=None):
    rng = numpy.random.default_rng(int(seed))
    made = programs()
    files = [archive.unpack(dumps(program)) for program in made]
    places = [list(paths(content["value"], ("value",))) for content, _ in files]
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):       # AddressSanitizer maps terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    warnings.simplefilter("ignore")
    refused = ran = 0
    for _ in range(int(count)):
        try:
            data = forged(files, places, rng)
        except (TypeError, ValueError):                 # JSON has no such content
            continue
        if path is not None:
            Path(path).write_bytes(data)                # for who looks for the cause of a crash
        try:
            program = loads(data)
            if not isinstance(program, Program):
                continue
            function = callable_of(program)
        except (FileError, ProgramError):
            refused += 1
            continue
        ran += 1
        for _ in range(3):                              # kernels are bound from the third call on
            try:
                function(*arguments_for(function.argument_types, rng))
            except Exception:
                pass
    print(f"{refused > 0} {ran > 0}" + (f" {refused} {ran}" if path else ""))


if __name__ == "__main__":
    main(*sys.argv[1:])
