"""One source for the largest rank and for each threshold: no other file has the number."""
import re
from pathlib import Path

import numpy
import pytest

from phintys.vm.abi import LARGEST_RANK

ROOT = Path(__file__).resolve().parents[2]
NATIVE = [path for folder in ("vm", "ops") for suffix in ("*.pyx", "*.pxd", "*.h")
          for path in sorted((ROOT / folder).rglob(suffix))]
THRESHOLDS = ROOT / "vm" / "thresholds.pxd"


def code_of(path):
    """A file without its comments."""
    return re.sub(r"/\*.*?\*/|//[^\n]*|#(?!define)[^\n]*", "", path.read_text(), flags=re.DOTALL)


def test_the_largest_rank_is_written_once():
    defined = [path.name for path in NATIVE if re.search(r"MAX(IMUM)?_RANK\"?\s*=?\s*\d", code_of(path))]
    assert defined == ["limits.pxd"]
    sized = re.compile(rf"(shape|strides|index|lengths|dimensions|order|axes)\[(2 \* )?{LARGEST_RANK}\]")
    assert [path.name for path in NATIVE if sized.search(code_of(path))] == []


def test_the_largest_rank_is_that_of_numpy():
    numpy.empty((1,) * LARGEST_RANK)
    with pytest.raises(ValueError):
        numpy.empty((1,) * (LARGEST_RANK + 1))


def test_thresholds_are_written_once():
    """What is worth leaving the GIL or waking a worker is defined in one file."""
    definition = re.compile(r"^\s+(?:LONG|PIECE|RELEASE|GRAIN|SHARED|ALONE)_(?:COUNT|BYTES|ELEMENTS|NANOSECONDS)\b\s*=",
                            re.MULTILINE)
    mentioned = re.compile(r"= \d{3,}.*#.*\b(20 microseconds|worth waking a worker|worth leaving the GIL)")
    assert [path.name for path in NATIVE if path != THRESHOLDS
            and (definition.search(path.read_text()) or mentioned.search(path.read_text()))] == []


def test_every_threshold_is_used():
    names = re.findall(r"^    ([A-Z_]+) = \d+", THRESHOLDS.read_text(), re.MULTILINE)
    assert len(names) > 30 and len(set(names)) == len(names)
    used = {name for path in NATIVE for name in re.findall(r"\b[A-Z_]+\b", code_of(path)) if path != THRESHOLDS}
    assert [name for name in names if name not in used] == []
