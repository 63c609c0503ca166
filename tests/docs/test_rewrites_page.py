"""docs/rewrites.md is what its writer makes of the tables of rewrites, and says of each what it does."""
import runpy
from pathlib import Path

from phintys.optimizer.pipeline import all_rewrites

DOCS = Path(__file__).parents[2] / "docs"
WRITER = runpy.run_path(str(DOCS / "write_rewrites.py"))


def test_page_is_current():
    assert (DOCS / "rewrites.md").read_text() == WRITER["page"](), "run: python docs/write_rewrites.py"


def test_each_row_says_what_it_does():
    rows = [rewrite for _, rewrite in all_rewrites() if hasattr(rewrite, "tags")]
    assert len(rows) > 180 and not [rewrite for rewrite in rows if not WRITER["identity_of"](rewrite)]
