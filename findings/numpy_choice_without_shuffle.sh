#!/bin/bash
# NumPy 2.4.6: `Generator.choice(3, 2, replace=False, shuffle=False)`. One expects one order for each set of two, since
# nothing is shuffled. There are four of the six ordered pairs: the set {0, 1} comes in both orders, {0, 2} and {1, 2}
# in one. So a program that relies on an order sees it for some sets only.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install numpy==2.4.6
shows "(0, 1) 1/6, (0, 2) 1/3, (1, 0) 1/6, (1, 2) 1/3" <<'PROGRAM'
from collections import Counter
from fractions import Fraction
import numpy
drawn = 30000
found = Counter(tuple(map(int, numpy.random.default_rng(seed).choice(3, 2, replace=False, shuffle=False)))
                for seed in range(drawn))
print(", ".join(f"{pair} {Fraction(round(count / drawn * 6), 6)}" for pair, count in sorted(found.items())))
PROGRAM
