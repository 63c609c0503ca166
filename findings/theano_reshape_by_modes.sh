#!/bin/bash
# Theano 1.0.5 with NumPy 1.20.3 (Python 3.6 to 3.8: PYTHON=python3.8): a vector of 4 elements reshaped to (1, n) with n
# = 3 is an error in mode FAST_COMPILE, as in NumPy. In FAST_RUN a rewrite makes it a dimshuffle, which ignores n: the
# result has the shape (1, 4).
. "$(dirname "$0")/environment" "$(mktemp -d)"
install numpy==1.20.3 scipy==1.7.3 Theano==1.0.5
export THEANO_FLAGS="cxx=,base_compiledir=$folder/theano"
shows "FAST_RUN (1, 4)
FAST_COMPILE ValueError" <<'PROGRAM'
import numpy, theano, theano.tensor as T
v, n = T.dvector(), T.lscalar()
for mode in ("FAST_RUN", "FAST_COMPILE"):
    f = theano.function([v, n], v.reshape((1, n)), mode=mode)
    try:
        print(mode, f(numpy.arange(4.0), 3).shape)
    except ValueError:
        print(mode, "ValueError")
PROGRAM
