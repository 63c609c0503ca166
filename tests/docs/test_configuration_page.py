"""docs/configuration.md says what the table of options says."""
import re
import runpy
from pathlib import Path

import pytest

from phintys.graph.config import OPTIONS, Config

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCES = "\n".join([path.read_text() for folder in ("api", "graph", "ops", "optimizer", "vm")
                     for suffix in ("py", "pyx") for path in (ROOT / folder).rglob(f"*.{suffix}")
                     if path.name != "config.py"])
ONE_VALUE = {"device": "cuda"}


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
    assert name in ONE_VALUE or all(re.search(pattern, SOURCES) for pattern in found)


@pytest.mark.parametrize("name", ONE_VALUE)
def test_options_with_one_value_refuse_others_when_they_are_set(name):
    config = Config(OPTIONS)
    with pytest.raises(ValueError, match=f"config.{name} cannot be"):
        config.set(name, ONE_VALUE[name])
    config.set(name, {row[0]: row[1] for row in OPTIONS}[name])
    with pytest.raises(ValueError, match=f"PHINTYS_FLAGS: config.{name} cannot be"):
        config.read_flags(f"{name}={ONE_VALUE[name]}")


def test_options_that_do_not_exist_are_errors():
    config = Config(OPTIONS)
    for attempt in (lambda: config.conv.no_such_option, lambda: config.get("conv.no_such_option")):
        with pytest.raises(AttributeError, match="config has no option 'conv.no_such_option'"):
            attempt()
