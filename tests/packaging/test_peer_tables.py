"""The script that makes the tables of times: brackets mean one thing, however the numbers were printed."""
import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "asv_bench" / "peer_tables.py"
PRINTED = """
### Call overhead, 1 thread [microseconds per call; ratio to the row's best in brackets]

| case | numpy | jax | torch | phintys |
|---|---|---|---|---|
| x+1 1 element | 0.500 (5.00) | 4.0 (40.00) | - | **0.100** |
| of others | 0.500 | **0.1** | - | - |

### Logistic regression, 1 thread [steps per second; ratio to the row's best in brackets]

| case | numpy | theano | phintys |
|---|---|---|---|
| steps/s | 6794 (1.15) | **15564** | 7782 |
"""


@pytest.fixture(scope="module")
def script():
    specification = importlib.util.spec_from_file_location("peer_tables", PATH)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def printed(tmp_path):
    path = tmp_path / "printed.md"
    path.write_text(PRINTED)
    return path


def test_rows_of_the_readme(script, printed):
    assert script.headlines(script.read([printed]))[2:] == [
        "| call of `x + 1` on one element, µs | 0.1 | 0.5 (5) | 4, JAX (40) |",
        "| logistic regression, 400 × 784, steps a second | 7,782 | 6,794 (1.1) | **15,564**, Theano (0.5) |"]


def test_all_rows(script, printed):
    lines = script.everything(script.read([printed]))
    assert lines[:3] == ["### Call overhead, 1 thread", "", "Microseconds per call."]
    assert "| x+1 1 element | 0.1 | 0.5 (5) | 4 (40) |" in lines and not any("of others" in line for line in lines)


def test_the_best_of_several_files_counts(script, printed, tmp_path):
    again = tmp_path / "again.md"
    again.write_text(PRINTED.replace("0.100", "0.200").replace("7782", "9000").replace("0.500", "0.400"))
    tables = script.read([printed, again])
    assert tables["Call overhead, 1 thread", "microseconds per call"]["x+1 1 element"] == {
        "numpy": 0.4, "jax": 4.0, "phintys": 0.1}
    assert tables["Logistic regression, 1 thread", "steps per second"]["steps/s"]["phintys"] == 9000


def test_tables_with_a_label_are_kept_apart(script, printed):
    tables = script.read([printed, f"float32={printed}"])
    plain = ["Call overhead, 1 thread", "Logistic regression, 1 thread"]
    assert [title for title, _ in tables] == [*plain, *(f"{title}, float32" for title in plain)]


def test_a_part_of_a_document_is_replaced(script, printed, tmp_path, monkeypatch):
    document = tmp_path / "document.md"
    document.write_text("before\n<!-- avx2 -->\nold\n<!-- end -->\nafter\n<!-- other -->\n<!-- end -->\n")
    monkeypatch.setattr(sys, "argv", ["peer_tables.py", str(printed), "--into", str(document), "avx2"])
    script.main()
    text = document.read_text()
    assert "old" not in text and "| steps/s" not in text and "logistic regression" in text
    assert text.startswith("before\n<!-- avx2 -->\n\n| |") and text.endswith(
        "|\n\n<!-- end -->\nafter\n<!-- other -->\n<!-- end -->\n")
    with pytest.raises(SystemExit, match="has no lines <!-- sse -->"):
        script.replaced(text, "sse", [])


def test_a_file_without_tables_is_refused(script, tmp_path, monkeypatch):
    path = tmp_path / "empty.md"
    path.write_text("nothing")
    monkeypatch.setattr(sys, "argv", ["peer_tables.py", str(path)])
    with pytest.raises(SystemExit, match="no file has a table"):
        script.main()
