"""What kernels may not do in blocks ``with gil``, by reading their source."""
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^( +)with gil:\n((?:\1 +.*\n|\n)+)", re.MULTILINE)
ASSIGNMENT = re.compile(r"^ +[\w, ]+ = ", re.MULTILINE)


def sources():
    return [path for folder in ("ops", "vm") for path in sorted((ROOT / folder).rglob("*"))
            if path.suffix in (".pyx", ".pxd", ".pxi")]


def test_no_block_assigns_a_local_variable():
    """Cython lets a function without the GIL take it at its end, in each call, to release its local objects, even when
    the block has not run. With several threads this costs more than most kernels."""
    assigning = [f"{path.relative_to(ROOT)}: {found.group().strip()}" for path in sources()
                 for block in BLOCK.finditer(path.read_text()) for found in ASSIGNMENT.finditer(block.group(2))]
    assert assigning == []
    assert len([path for path in sources() if BLOCK.search(path.read_text())]) > 20       # it still finds blocks
