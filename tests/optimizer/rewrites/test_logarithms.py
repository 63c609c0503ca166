"""Stable formulas behind operations that move elements: values, gradients and second derivatives against mpmath."""
import itertools

import pytest
from moved_elements import MOVES, PAIRS, ROWS, check

FORMULAS = [*PAIRS, *ROWS]
PER_FORMULA = 4                # moves that each formula is tried with; together these are all moves, several times
CHAINS = [", ".join(pair) for pair in itertools.product(["T", "[::-1]", "flatten", "[vector]", "concatenate", "switch",
                                                         "repeat", "dimshuffle", "ifelse", "set_subtensor"], repeat=2)]


def chosen(moves, per_formula, offset=0):
    """Return (formula, move) pairs: each formula with the next few moves."""
    rounds = itertools.islice(itertools.cycle(moves), offset, None)
    return [(formula, next(rounds)) for formula in FORMULAS for _ in range(per_formula)]


@pytest.mark.parametrize("formula, moves", chosen([name for name in MOVES if name != "nothing"], PER_FORMULA, 20))
def test_moved_once(formula, moves):
    check(formula, moves)
    check(formula, moves, outputs=(1,))


@pytest.mark.parametrize("formula", FORMULAS)
def test_not_moved(formula):
    check(formula, "nothing")


@pytest.mark.parametrize("formula, moves", chosen(CHAINS, 1))
def test_moved_twice(formula, moves):
    check(formula, moves)
