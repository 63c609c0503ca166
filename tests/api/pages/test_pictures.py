"""Pictures of graphs under Theano's names: ``printing.pydotprint`` and ``d3viz``."""
import io
import json
import logging
import re
import shutil

import numpy as np
import pytest
from browser import document, needs_browser

import phintys
import phintys.tensor as T
from phintys.printing import pydotprint

x, y = T.dvectors("x", "y")
m = T.dmatrix("m")

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="the program dot of graphviz is not installed")


def text_of(thing, **options):
    return pydotprint(thing, return_image=True, format="dot", **options).decode()


def labels(text):
    """Label → the line of a shape."""
    return {re.search(r'label="((?:[^"\\]|\\.)*)"', line)[1]: line for line in text.splitlines() if "shape=" in line}


def test_nodes_are_ellipses_and_variables_boxes():
    w = phintys.shared(np.ones(2), "w")
    f = phintys.function([x], T.exp(x).sum(), updates=[(w, w + x)], name="f")
    text = text_of(f, var_with_name_simple=True)
    found = labels(text)
    assert 'shape="box"' in found["x"] and 'fillcolor="green"' in found["x"]
    shown = [line for line in text.splitlines() if 'label="w"' in line]             # the old value and the new one
    assert 'fillcolor="cyan"' in shown[0] and 'fillcolor="blue"' in shown[1]
    assert 'fontcolor="white"' in shown[1] and 'fontcolor' not in shown[0]
    assert any('shape="ellipse"' in line for line in found.values())
    assert any('fillcolor="blue"' in line for line in found.values())
    assert text.startswith("digraph G {") and text.rstrip().endswith("}")


def test_arrows_show_what_is_overwritten_and_what_is_a_view():
    f = phintys.function([phintys.In(m, mutable=True)], [T.exp(m)])
    assert 'color="red"' in text_of(f)
    assert 'color="blue"' in text_of(m.T + 1)


def test_options():
    z = T.exp(x + y)
    assert "name=x TensorType(float64, vector)" in labels(text_of(z))
    assert "x" in labels(text_of(z, var_with_name_simple=True))
    assert text_of(z, compact=False).count("shape=") == text_of(z).count("shape=") + 1
    assert any(label.endswith(" id=1") for label in labels(text_of(z, with_ids=True)))
    assert max(map(len, labels(text_of(z, max_label_size=20)))) <= 20
    assert 'style="filled"' not in text_of(z, high_contrast=False)
    assert 'fillcolor="#123456"' in text_of(z, colorCodes={"Elemwise": "#123456"})


def test_branches_of_an_ifelse_are_framed():
    c = T.iscalar("c")
    both = T.exp(x)
    z = phintys.ifelse.ifelse(c, both * 2, both - y, name="choice")
    text = text_of(z, cond_highlight="choice")
    assert all(f"cluster_{side}" in text for side in ("Left", "Right", "Middle"))


def test_a_branch_that_is_not_there_is_told_to_theanos_logger():
    shown = io.StringIO()
    handler = logging.StreamHandler(shown)
    phintys.theano_logger.removeHandler(phintys.logging_default_handler)
    phintys.theano_logger.addHandler(handler)
    try:
        assert "cluster" not in text_of(x + 1, cond_highlight="another")
    finally:
        phintys.theano_logger.removeHandler(handler)
        phintys.theano_logger.addHandler(phintys.logging_default_handler)
    assert shown.getvalue() == "pydotprint: cond_highlight is set but there is no IfElse node in the graph\n"


def test_what_can_be_drawn():
    z = T.exp(x)
    graph = phintys.FunctionGraph([x], [z], clone=True)
    expected = text_of(z)
    assert text_of([z]) == expected and text_of(z.owner) == expected and text_of(graph) == expected
    with pytest.raises(TypeError, match="pydotprint draws .*, got 3, a int"):
        pydotprint(3)


def test_quotes_and_long_constants_are_safe():
    z = T.dvector('a "name"\n\\') + T.constant([[1.0] * 3] * 3)
    text = text_of(z)
    assert '\\"name\\"' in text and all(line.count('"') % 2 == 0 for line in text.replace('\\"', "").splitlines())


def test_loops_are_drawn_to_files_of_their_own(tmp_path, capsys):
    rows, _ = phintys.scan(lambda row, before: T.tanh(row + before), sequences=m, outputs_info=x, name="walk")
    f = phintys.function([m, x], rows)
    pydotprint(f, tmp_path / "f.dot", format="dot", scan_graphs=True)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names[0] == "f.dot" and re.fullmatch(r"f_walk_\d+\.dot", names[1])
    assert "The output file is available at" in capsys.readouterr().out


def test_times_of_a_profile_are_in_the_labels():
    f = phintys.function([x], T.exp(x), profile=phintys.ProfileStats(atexit_print=False))
    f([1.0])
    assert any(re.search(r"\(\d\.\d{3}s,[\d.]+%\)$", label) for label in labels(text_of(f)))


@needs_dot
@pytest.mark.parametrize("format, begin", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_graphviz_draws(format, begin, tmp_path):
    assert phintys.printing.pydot_imported
    path = tmp_path / f"f.{format}"
    assert pydotprint(phintys.function([x, y], T.exp(x) * y), outfile=str(path), format=format,
                      print_output_file=False) is None
    assert path.read_bytes().startswith(begin)


@needs_dot
def test_graphviz_says_what_it_cannot_do():
    with pytest.raises(RuntimeError, match="dot cannot draw the graph in the format 'paper'"):
        pydotprint(x + 1, format="paper", return_image=True)


def test_without_graphviz_the_error_names_other_ways(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert not phintys.printing.pydot_imported
    with pytest.raises(RuntimeError, match=r"needs the program dot of graphviz .*d3viz.*debugprint.*format='dot'"):
        pydotprint(x + 1)


# ---- d3viz -----------------------------------------------------------------------------------------------------------
def graphs_in(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])["graphs"]


def test_d3viz_writes_a_page(tmp_path):
    path = tmp_path / "folder" / "f.html"
    phintys.d3viz.d3viz(phintys.function([x], T.exp(x) + 1, name="f"), path)
    boxes = graphs_in(path)["f"]["boxes"]
    assert [box["label"] for box in boxes] == ["x", "exp(x) + 1", "result"]


def test_d3viz_shows_the_bodies_of_loops(tmp_path):
    rows, _ = phintys.scan(lambda row, before: T.tanh(row + before), sequences=m, outputs_info=x)
    phintys.d3viz.d3viz(phintys.function([m, x], rows, name="f"), tmp_path / "f.html")
    assert list(graphs_in(tmp_path / "f.html")) == ["f", "body 1"]


def test_d3viz_takes_variables(tmp_path):
    for number, thing in enumerate([x + y, [x + y], (x + y).owner, phintys.FunctionGraph([x, y], [x + y])]):
        phintys.d3viz.d3viz(thing, tmp_path / f"{number}.html")
        assert "x + y" in [box["label"] for box in graphs_in(tmp_path / f"{number}.html")["graph"]["boxes"]]
    with pytest.raises(TypeError, match="d3viz draws .*, got 'x', a str"):
        phintys.d3viz.d3viz("x", tmp_path / "x.html")


def test_d3write_writes_graphvizs_language(tmp_path):
    phintys.d3viz.d3write(x + y, tmp_path / "sum.dot")
    assert (tmp_path / "sum.dot").read_text().startswith("digraph G {")


@needs_browser
def test_texts_of_boxes_are_not_wider_than_the_boxes(tmp_path):
    y.name = "W" * 40
    phintys.d3viz.d3viz(T.exp(y), tmp_path / "f.html")
    y.name = "y"
    shown = document((tmp_path / "f.html").read_text(encoding="utf-8"), tmp_path)
    boxes = re.findall(r">(W+)…</text>", shown)
    assert boxes and all([8 < len(text) < 20 for text in boxes])           # a box has room for 15 of these letters


@needs_browser
def test_d3viz_is_shown(tmp_path):
    phintys.d3viz.d3viz(T.exp(x), tmp_path / "f.html")
    shown = document((tmp_path / "f.html").read_text(encoding="utf-8"), tmp_path)
    assert 'data-ready="yes"' in shown and ">exp(x)</text>" in shown
