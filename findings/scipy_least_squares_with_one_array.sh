#!/bin/bash
# SciPy 1.18.1: a function that returns one array, overwritten at each call, as compiled programs with kept memory do,
# is taken by some solvers and not by others. least_squares and root(method="lm") then stay at the start and report
# success; hybr finds the root with more calls; RK45 and Radau take other
# steps, without a word; LSODA copies what it is given.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install numpy==2.4.6 scipy==1.18.1
shows "least_squares: new arrays [1.0, 1.0], one array [-1.2, 1.0], success True, 25 and 1 calls
root(lm): new arrays [1.0, 1.0], one array [-1.2, 1.0], success True, 56 and 5 calls
root(hybr): new arrays [1.0, 1.0], one array [1.0, 1.0], success True, 28 and 70 calls
RK45: new arrays 0.36809008, one array 0.36791874
Radau: new arrays 0.36786955, one array 0.36787942
LSODA: new arrays 0.36806483, one array 0.36806483" <<'PROGRAM'
import numpy
from scipy import integrate, optimize

def kept(function):
    """The function, with all its results in one array."""
    result = numpy.empty(2)
    def call(*arguments):
        result[:] = function(*arguments)
        return result
    return call

def rosenbrock(x):
    return numpy.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])

def decay(t, y):
    return -y

for name, solve in (("least_squares", lambda f: optimize.least_squares(f, [-1.2, 1.0])),
                    ("root(lm)", lambda f: optimize.root(f, [-1.2, 1.0], method="lm")),
                    ("root(hybr)", lambda f: optimize.root(f, [-1.2, 1.0], method="hybr"))):
    new, one = solve(rosenbrock), solve(kept(rosenbrock))
    print(f"{name}: new arrays {new.x.round(6).tolist()}, one array {one.x.round(6).tolist()}, success {one.success}, "
          f"{new.nfev} and {one.nfev} calls")
for method in "RK45", "Radau", "LSODA":
    new, one = [integrate.solve_ivp(f, (0, 1), [1.0, 1.0], method=method).y[0, -1]
                for f in (decay, kept(decay))]
    print(f"{method}: new arrays {new:.8f}, one array {one:.8f}")
PROGRAM
