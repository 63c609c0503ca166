"""What the golden tests share: a function's instructions as a list, and variables for their programs."""
import re

import numpy as np

import phintys
import phintys.tensor as T


def listing(inputs, outputs=None, allow_gc=True, mode=None, workers=1, **options):
    """The code of a function, one instruction a line, without numbers and remarks. Several workers have groups."""
    with phintys.change_flags(allow_gc=allow_gc, workers=workers):
        text = phintys.function(inputs, outputs, mode=mode, name="golden", **options).explain("instructions")
    lines = [re.match(r" +\d+  ([A-Z]+) *(.*)", line) for line in text.splitlines()]
    return [(line[1], line[2].split("  ")[0]) for line in lines if line]


def code(text):
    return [tuple((line.split(maxsplit=1) + [""])[:2]) for line in text.strip().splitlines()]


x, y = T.vectors("x", "y")
m = T.matrix("m")


def shared(name, value=(1.0, 2.0, 3.0)):
    return phintys.shared(np.asarray(value), name)
