"""docs/numpy.md says what the tables of NumPy's protocol say; each function of NumPy has a row there, or a reason."""
import runpy
from pathlib import Path

import numpy
import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def writer():
    return runpy.run_path(str(DOCS / "write_numpy.py"))


def test_every_function_of_numpy_has_a_row_or_a_reason(writer):
    assert writer["unknown"]() == []
    supported = {name for name, _, _ in writer["rows"]()}
    assert len(supported) > 300
    assert supported.isdisjoint(" ".join(writer["REASONS"].values()).split())


def test_the_page_is_current(writer):
    """Signatures change from version to version; of another one than the page's, its functions must be on the page."""
    text = (DOCS / "numpy.md").read_text()
    if f"for NumPy {'.'.join(numpy.__version__.split('.')[:2])};" in text:
        assert text == writer["page"](), "run: python docs/write_numpy.py"
    else:
        assert [name for name, _, _ in writer["rows"]() if f"`{name}`" not in text] == []
