"""docs/reliability.md says what the campaigns found, and names tests that exist."""
import json
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_page_is_current():
    writer = runpy.run_path(str(DOCS / "write_reliability.py"))
    text = (DOCS / "reliability.md").read_text()
    assert text == writer["page"](), "run: python docs/write_reliability.py"
    named = re.findall(r"`(tests/[\w/.]+)`", text)
    assert named and all([(ROOT / name).exists() for name in named])


def test_every_find_says_how_it_was_mended():
    for result in json.loads((DOCS / "campaigns.json").read_text()):
        assert all(["mended" in find for find in result["finds"]]), result["campaign"]
        assert f"`{result['campaign']}`" in (DOCS / "reliability.md").read_text()
