"""The tutorials are notebooks; here their cells run without Jupyter, in order. They check their results themselves."""
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index")
CELL = re.compile(r"^```{code-cell}[^\n]*\n((?::[^\n]*\n)*)(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def pictures(monkeypatch):
    """matplotlib's, which no window shows."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_cells_run(name, pictures):
    path = FOLDER / f"{name}.md"
    text = path.read_text()
    if "sklearn" in text:
        pytest.importorskip("sklearn")
    namespace = {"__name__": "notebook"}
    cells = list(CELL.finditer(text))
    assert len(cells) > 4 and text.startswith("---\njupytext:")
    for cell in cells:
        line = text.count("\n", 0, cell.start(2))
        exec(compile("\n" * line + cell[2], str(path), "exec"), namespace)
