"""docs/mathematics.md says what was measured."""
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_page_is_current():
    writer = runpy.run_path(str(DOCS / "write_mathematics.py"))
    assert (DOCS / "mathematics.md").read_text() == writer["page"](), "run: python docs/write_mathematics.py"
