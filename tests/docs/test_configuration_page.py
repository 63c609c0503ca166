"""docs/configuration.md says what the table of options says."""
import re
import runpy
from pathlib import Path

import pytest

from phintys.graph.config import OPTIONS, Config

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCES = "\n".join([path.read_text() for folder in ("api", "gpu", "graph", "ops", "optimizer", "vm")
                     for suffix in ("py", "pyx") for path in (ROOT / folder).rglob(f"*.{suffix}")
                     if path.name != "config.py"])


def test_page_is_current():
    writer = runpy.run_path(str(DOCS / "write_configuration.py"))
    message = "run: python docs/write_configuration.py"
    assert (DOCS / "configuration.md").read_text() == writer["page"](), message


def working_options():
    """The options of which the page says that they do something."""
    listed = runpy.run_path(str(DOCS / "write_configuration.py"))["page"]().partition("## Accepted and ignored")
    return re.findall(r"^\| `([\w.]+)` \|", listed[0], re.MULTILINE)


@pytest.mark.parametrize("name", working_options())
def test_options_that_do_something_are_read(name):
    section, _, attribute = name.rpartition(".")
    found = [rf"config\.{section}\b", rf"\b{attribute}\b"] if section else [rf"(config\.|[\"']){attribute}\b"]
    assert all(re.search(pattern, SOURCES) for pattern in found)


def test_options_that_do_not_exist_are_errors():
    config = Config(OPTIONS)
    for attempt in (lambda: config.conv.no_such_option, lambda: config.get("conv.no_such_option")):
        with pytest.raises(AttributeError, match="config has no option 'conv.no_such_option'"):
            attempt()
