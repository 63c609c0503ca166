"""docs/operations.md says what the docstrings of the public names say, and every public name has its place there."""
import runpy
from pathlib import Path

import pytest

import phintys.tensor as T
from phintys.graph.public_names import defined_in

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def writer():
    return runpy.run_path(str(DOCS / "write_operations.py"))


def test_page_is_current(writer):
    message = "run: python docs/write_operations.py"
    assert (DOCS / "operations.md").read_text() == writer["page"](), message


def test_a_name_is_listed_with_its_signature_and_first_sentence(writer):
    page = writer["page"]()
    assert "| `T.cumsum(x, axis=None, dtype=None)` | The cumulative sum: the sum of all elements up to and " in page
    assert "| `T.arctan2(y, x)`, `T.atan2` |" in page                     # the operands as the gradient names them
    assert "0x" not in page                                     # an address would differ each time


def test_what_has_no_place_or_no_docstring_is_an_error(writer):
    def undocumented():
        pass

    with pytest.raises(LookupError, match="undocumented.* has no docstring"):
        writer["first_sentence"](undocumented)
    undocumented.__module__ = "phintys.ops.nowhere"
    with pytest.raises(LookupError, match="say in FAMILIES"):
        writer["family_of"](undocumented)
    assert writer["family_of"](T.dot) == "Products"


def test_every_row_of_families_lists_something(writer):
    rows = {module for _, _, modules in writer["FAMILIES"] for module in modules.split()} | {*writer["NOT_LISTED"]}
    used = set()
    for value in writer["public_values"]()[1].values():
        name = (defined_in(value) or "").removeprefix("phintys.")
        while name and name not in rows:            # the innermost folder that is listed, as in family_of
            name = name.rpartition(".")[0]
        used.add(name)
    assert rows - used == set()


def test_counterparts_and_shapes(writer):
    """What the page of a name says beside its docstring; each counterpart is there."""
    counterpart, shapes = writer["counterpart"], writer["shapes"]
    assert counterpart(["T.cumsum"]).startswith("On arrays `numpy.cumsum`; `numpy.cumsum(x)` of a symbolic")
    assert counterpart(["T.linalg.sqrtm"]).startswith("On arrays `scipy.linalg.sqrtm`.")
    assert counterpart(["T.special.boxcox"]).startswith("On arrays `scipy.special.boxcox`.")
    assert counterpart(["T.fft.rfft"]) == counterpart(["T.switch"]) == counterpart(["T.nnet.relu"]) == ""
    assert shapes(T.exp).startswith("The operands are broadcast") and "those of `axis`" in shapes(T.sum)
    assert shapes(T.dot) == ""
    names, values = writer["public_values"]()
    own = [known for key, known in names.items() if writer["family_of"](values[key]) and known[0].startswith("T.")]
    assert sum([counterpart(known) != "" for known in own]) > 300
