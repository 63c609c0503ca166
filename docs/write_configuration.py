"""Writes configuration.md from the table of options: ``python docs/write_configuration.py``.

A test fails when the page is out of date."""
from pathlib import Path

from phintys.graph.config import OPTIONS

PAGE = Path(__file__).with_name("configuration.md")
FOR_THEANO = "Accepted for compatibility"

HEAD = """# Configuration

Written by `docs/write_configuration.py` from the table in `graph/config.py`; edit the table, not this file.

Options are read from the environment variable `PHINTYS_FLAGS` when phintys is imported
(`PHINTYS_FLAGS=floatX=float32,allow_gc=False`), set as attributes of `phintys.config`, and set temporarily
by `phintys.config.change_flags(floatX="float32")`. An unknown name raises `AttributeError`, an impossible value
`ValueError`. Theano's `THEANO_FLAGS` is not read, unless `phintys.install_as_theano()` is called first;
if it is set, making the first function warns.
"""


def table(options):
    """Rows of name, default, and what the option does."""
    rows = ["| option | default | what it does |", "|---|---|---|"]
    return "\n".join(rows + [f"| `{name}` | `{default!r}` | {doc.replace('|', chr(92) + '|')} |"
                             for name, default, _, doc in options]) + "\n"


def page():
    """The text of configuration.md."""
    accepted = [option for option in OPTIONS if option[3].startswith(FOR_THEANO)]
    working = [option for option in OPTIONS if option not in accepted]
    names = ", ".join(f"`{option[0]}`" for option in accepted)
    return "\n".join([
        HEAD, "## Options", "", table(working),
        "## Accepted and ignored", "",
        f"These options have no effect. They are accepted so that programs written for Theano run: {names}.", ""])


if __name__ == "__main__":
    PAGE.write_text(page())
