#!/bin/bash
# autograd 1.9.1: the derivative of a Bessel function by its order is 0, in all of jn, yn, iv and ive, without an error,
# where the slope is plain. For the lower parameter of gammainc, also without a formula, it raises. And the slope of a
# product with one zero is NaN in place of the product of the others; the mean of float32 has a float64 gradient.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install autograd==1.9.1 numpy==2.5.5 scipy==1.18.1
shows "by the order: iv 0.0, by differences -0.7573; by the argument: iv 1.611, by differences 1.611
by the order: ive 0.0, by differences -0.1025; by the argument: ive -0.0589, by differences -0.0589
by the order: jn 0.0, by differences 0.3405; by the argument: jn -0.363, by differences -0.363
by the parameter: gammainc NotImplementedError
product of [0, 2, 3]: [nan, 0.0, 0.0]
mean of float32: float64" <<'PROGRAM'
import autograd, autograd.scipy.special, numpy, scipy.special
import autograd.numpy as own
numpy.seterr(all="ignore")

def slopes(name, place, real, at=(0.5, 2.0)):
    found = autograd.grad(getattr(autograd.scipy.special, name), place)(*at)
    step = numpy.eye(2)[place] * 1e-5
    return found, (real(*(at + step)) - real(*(at - step))) / 2e-5

for name, real in ("iv", scipy.special.iv), ("ive", scipy.special.ive), ("jn", scipy.special.jv):
    print("; ".join("by the {}: {} {:.4g}, by differences {:.4g}".format(what, name, *slopes(name, place, real))
                    .replace(" 0,", " 0.0,") for place, what in enumerate(("order", "argument"))))
try:
    print("by the parameter: gammainc", slopes("gammainc", 0, scipy.special.gammainc)[0])
except NotImplementedError as error:
    print("by the parameter: gammainc", type(error).__name__)
print("product of [0, 2, 3]:", autograd.grad(own.prod)(numpy.array([0.0, 2.0, 3.0])).tolist())
print("mean of float32:", autograd.grad(own.mean)(numpy.ones(2, "float32")).dtype)
PROGRAM
