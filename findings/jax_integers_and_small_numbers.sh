#!/bin/bash
# JAX 0.12.0 in 64 bits: 5 // 0 and -5 // 0 of integers are -2. 2 ** -2 of integers is an error if -2 is one number, and
# 2 ** 62 if it is an array. The hyperbolic sine of a small complex number is 0, of the same real number it is right.
# The root of -1 - 0j is on the other side of the cut than in NumPy; frexp of a subnormal number is 0. The norm of int8
# is computed in float32.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.5.5
shows "n // 0 for n = 5, -5: JAX [-2, -2], NumPy [0, 0]
2 ** -2: JAX TypeError, NumPy ValueError
2 ** [-2]: JAX [4611686018427387904], NumPy ValueError
sinh(z) for z = 1e-20: JAX 0j, NumPy (1e-20+0j)
sinh(x) for x = 1e-20: JAX 1e-20, NumPy 1e-20
sqrt(z) for z = -1 - 0j: JAX 1j, NumPy -1j
frexp(x) for x = 1e-310: JAX [0.0, 0], NumPy [0.5752618031559393, -1029]
norm of [100, 100] in int8: JAX 141.42135620117188, NumPy 141.4213562373095" <<'PROGRAM'
import jax, numpy
jax.config.update("jax_enable_x64", True)
numpy.seterr(all="ignore")

for text, function, value in (
        ("n // 0 for n = 5, -5", lambda module, n: n // 0, [5, -5]),
        ("2 ** -2", lambda module, n: module.power(2, n), -2),
        ("2 ** [-2]", lambda module, n: module.power(2, n), [-2]),
        ("sinh(z) for z = 1e-20", lambda module, z: module.sinh(z), 1e-20 + 0j),
        ("sinh(x) for x = 1e-20", lambda module, x: module.sinh(x), 1e-20),
        ("sqrt(z) for z = -1 - 0j", lambda module, z: module.sqrt(z), complex(-1, -0.0)),
        ("frexp(x) for x = 1e-310", lambda module, x: module.frexp(x), 1e-310),
        ("norm of [100, 100] in int8", lambda module, x: module.linalg.norm(x), numpy.array([100, 100], "int8"))):
    found = []
    for name, module in ("JAX", jax.numpy), ("NumPy", numpy):
        try:
            result = function(module, module.asarray(value))
            if isinstance(result, tuple):
                result = [part.item() for part in result]
            else:
                result = (numpy.asarray(result) + 0).tolist()
        except (TypeError, ValueError) as error:
            result = type(error).__name__
        found.append(f"{name} {result}")
    print(f"{text}: " + ", ".join(found))
PROGRAM
