"""The functions whose files are kept for each bytecode, in ``tests/vm/files/golden``; this file writes the present one.

    python -I tests/support/golden_programs.py
"""
from pathlib import Path

import numpy

import phintys
import phintys.tensor as T
from phintys.vm.files.programs import BYTECODE

FOLDER = Path(__file__).parents[1] / "vm" / "files" / "golden"
VALUE = numpy.array([0.5, -1.0, 2.0])
ARGUMENTS = {"views": [VALUE], "step": [VALUE], "loop": [VALUE, 5], "branch": [0, VALUE],
             "products": [numpy.eye(3) * 2],
             "convolution": [numpy.arange(16.0).reshape(1, 1, 4, 4), numpy.ones((1, 1, 2, 2))]}


def functions():
    """Functions of all kinds of instructions, by name."""
    x, m, n, c = T.dvector("x"), T.dmatrix("m"), T.lscalar("n"), T.bscalar("c")
    w = phintys.shared(numpy.arange(3.0), name="w")
    rows, _ = phintys.scan(lambda s, a: T.tanh(s * a), outputs_info=[T.ones_like(x)], non_sequences=[x], n_steps=n)
    image, kernel = T.tensor4("image"), T.tensor4("kernel")
    made = {"views": ([x], [x[::-1], T.exp(x[1:]).sum()], None), "step": ([x], w.sum(), [(w, w + x)]),
            "loop": ([x, n], rows[-1], None), "branch": ([c, x], phintys.ifelse.ifelse(c, T.log(x), x - 1), None),
            "products": ([m], [T.dot(m, m.T), m.argmax(axis=0), T.sort(m)], None),
            "convolution": ([image, kernel], T.grad(T.nnet.conv2d(image, kernel).sum(), [image, kernel]), None)}
    return {name: phintys.function(inputs, outputs, updates=updates, name=name)
            for name, (inputs, outputs, updates) in made.items()}


def golden_path():
    """The file of this version."""
    return FOLDER / f"{phintys.__version__}-{BYTECODE[:12]}.phx"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    phintys.save(golden_path(), functions())
    print(golden_path())
