"""docs/configuration.md says what the table of options says."""
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_page_is_current():
    writer = runpy.run_path(str(DOCS / "write_configuration.py"))
    message = "run: python docs/write_configuration.py"
    assert (DOCS / "configuration.md").read_text() == writer["page"](), message
