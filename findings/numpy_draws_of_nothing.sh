#!/bin/bash
# NumPy 2.4.6 (2.5.5 the same): does a generator use numbers where nothing is drawn? A choice of no element without
# replacement shuffles all elements in RandomState, and nothing in Generator. Along an axis of a (0, 3) array,
# `Generator.permutation` uses numbers, `shuffle` and `permuted` do not. Whoever compares two programs that draw from
# one stream meets this after an empty batch.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install numpy==2.4.6
shows "RandomState.choice uses numbers, Generator.choice does not
Generator.permutation uses numbers, shuffle does not, permuted does not" <<'PROGRAM'
import numpy

def uses_numbers(draw, seed=5):
    generator = numpy.random.default_rng(seed)
    before = generator.bit_generator.state
    draw(generator)
    return "does not" if generator.bit_generator.state == before else "uses numbers"

legacy = numpy.random.RandomState(5)
before = legacy.get_state()[2]
legacy.choice(5, (0,), replace=False)
print("RandomState.choice", "uses numbers," if legacy.get_state()[2] != before else "does not,",
      "Generator.choice", uses_numbers(lambda generator: generator.choice(5, (0,), replace=False)))
print(", ".join(f"{'Generator.' if name == 'permutation' else ''}{name} "
                + uses_numbers(lambda generator: getattr(generator, name)(numpy.zeros((0, 3)), axis=1))
                for name in ("permutation", "shuffle", "permuted")))
PROGRAM
