"""Training in several processes of MPI: ``tests/support/replica_program.py``, run by four of them."""
import re
from pathlib import Path

import pytest

from tests.support import mpi

PROGRAM = Path(__file__).parents[2] / "support" / "replica_program.py"
NAMES = re.findall(r"^def (test_\w+)", PROGRAM.read_text(), re.MULTILINE)
SOME = ("test_which_way", "test_as_in_one_process", "test_in_a_fixed_order", "test_a_call_that_fails", "test_averages")
WAYS = {"here": NAMES, "apart": SOME, "openmpi": SOME, "containers": SOME, "machines": SOME}   # see ``mpi``


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What all four processes have run, and what they wrote besides; for each way once."""
    known = {}

    def printed_by(way):
        if way not in known:
            found = mpi.run(way, 4, PROGRAM, tmp_path_factory.mktemp("checkpoints"), *WAYS[way],
                            EXPECTED_WAY="CommonMemory" if way in ("here", "openmpi") else "Messages")
            known[way] = found.stdout.splitlines(), found.stdout + found.stderr
        return known[way]

    return printed_by


@pytest.mark.parametrize(("way", "name"), [(way, name) for way, names in WAYS.items() for name in names])
def test_four_processes(printed, way, name):
    names, everything = printed(way)
    assert name in names, everything[-5000:]


def test_they_are_found():
    assert len(NAMES) > 10 and set(SOME) < set(NAMES)
