#!/bin/bash
# PyTensor 3.3.8: each variable knows where it was made (`tag.trace`), but those in the body of a Scan do not: its inner
# graph is made anew, as a FrozenFunctionGraph, without them. So an error in a loop can only name the line that called
# `scan`. In 3.0.7 the variables of the body have their traces.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pytensor==3.3.8 numpy==2.4.6 scipy==1.18.1
shows "the loop knows its line: True
its body does: False" <<'PROGRAM'
import pytensor
import pytensor.tensor as pt

matrix = pt.dmatrix("matrix")
rows = pytensor.scan(lambda row: pt.exp(row), sequences=[matrix], return_updates=False)
print("the loop knows its line:", bool(getattr(rows.tag, "trace", None)))
print("its body does:", bool(getattr(rows.owner.op.inner_outputs[0].tag, "trace", None)))
PROGRAM
