"""``f.explain(html=True)``: what the page holds, and that it works in a real browser."""
import json
import re
import sys

import numpy as np
import pytest
from browser import document, needs_browser, texts

import phintys
import phintys.tensor as T
from phintys.ops.formulas import written
from phintys.pages.document import Page, page
from phintys.pages.graph_picture import picture_of
from phintys.pages.rewrite_story import story_of
from phintys.reports.memory_plot import placed

x, m = T.vector("x"), T.matrix("m")
w = phintys.shared(np.ones((4, 3)), "w")
hidden = T.tanh(T.dot(m, w))            # the line that tests click
HIDDEN_LINE = sys._getframe().f_lineno - 1
cost = (hidden ** 2).sum()

PROGRAM_SHOWN = re.compile(r'<section (id="program" class="shown"|class="shown" id="program")>')


def trained():
    f = phintys.function([m], cost, updates=[(w, w - 0.1 * T.grad(cost, w))], name="train",
                         profile=phintys.ProfileStats(atexit_print=False))
    f(np.ones((50, 4)))
    return f


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_a_page_is_one_document_that_loads_nothing(tmp_path):
    made = trained().explain(html=True)
    assert isinstance(made, Page) and made.startswith("<!DOCTYPE html>")
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+\.\w+[^\s\"'\\]*", made)) - {"http://www.w3.org/2000/svg"}
    code = re.sub(r'<script type="application/json".*?</script>', "", made, flags=re.DOTALL)    # data hold this file
    assert not addresses and not re.findall(r"<link|<img|src=|@import|fetch\(|XMLHttpRequest", code)
    assert "default-src 'none'" in made
    assert made.save(tmp_path / "train.html").read_text(encoding="utf-8") == made


def test_rows_have_lines_times_and_bytes():
    data = data_of(trained().explain(html=True))
    assert data["summary"].startswith("train(m): 1 result, updates of w")
    row = next(row for row in data["rows"] if row["formulas"][0].startswith("dot1"))
    assert row["lines"] == [[__file__, HIDDEN_LINE, False]] and row["bytes"] == 50 * 3 * 8 and row["seconds"] > 0
    assert any([__file__, HIDDEN_LINE, True] in row["lines"] for row in data["rows"])
    source, = data["files"]
    assert source["name"] == __file__ and source["texts"][HIDDEN_LINE - source["first"]].startswith("hidden = ")


def test_memory_is_known_after_the_first_call():
    f = phintys.function([m], T.dot(T.exp(m), m.T), name="f")
    assert data_of(f.explain(html=True))["memory"] is None
    f(np.ones((40, 40)))
    memory = data_of(f.explain(html=True))["memory"]
    assert {piece["title"] for piece in memory["pieces"]} == {"exp1", "dot1"}
    assert max(memory["alive"]) == sum(piece["bytes"] for piece in memory["pieces"])


def test_pieces_that_are_in_use_together_do_not_overlap():
    random = np.random.RandomState(3)
    pieces = [(first, first + random.randint(5), int(random.randint(1, 50))) for first in random.randint(0, 30, 60)]
    offsets = placed(pieces)
    for (first, last, size), offset in zip(pieces, offsets):
        for (start, end, other), place in zip(pieces, offsets):
            if (first, last, size, offset) != (start, end, other, place) and first <= end and start <= last:
                assert offset + size <= place or place + other <= offset


def test_the_story_says_what_became_what():
    f = phintys.function([x], T.log(1 + T.exp(x)) * 1, name="f")
    story = story_of(f)
    names = {chapter["name"]: chapter for chapter in story.chapters}
    assert any("softplus(x)" in new for chapter in names.values() for _, new, _ in chapter["examples"])
    assert len(story.before["boxes"]) > len(story.after["boxes"])
    assert [str(node.op) for node in story.fgraph.toposort()] == [str(node.op) for node in f.maker.fgraph.toposort()]


def test_formulas_of_the_story_show_a_few_levels():
    assert written(x * (x + 1)) == "x * (x + 1)"
    deep = x
    for _ in range(50):
        deep = T.exp(deep) + 1
    assert written(deep) == "exp(… + 1) + 1"


def test_a_picture_has_each_node_below_what_it_reads():
    y = T.exp(x)
    picture = picture_of([x], [y + T.exp(y).sum()])
    boxes = picture["boxes"]
    assert all(boxes[start]["y"] < boxes[end]["y"] for start, end, _ in picture["arrows"])
    places = [(box["x"], box["y"]) for box in boxes]
    assert len(set(places)) == len(places)
    assert {box["kind"] for box in boxes} == {"input", "op", "output"}


def test_a_picture_of_a_long_chain_needs_no_recursion():
    y = x
    for _ in range(3000):
        y = y + x
    assert len(picture_of([x], [y])["boxes"]) == 3002


def test_notebooks_show_a_frame():
    f = phintys.function([x], x * 2, name="f")
    text = f._repr_html_()
    assert text.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts"' in text
    assert "<script" not in text                            # it is inside the attribute
    assert f.explain(html=True)._repr_html_() == text


def test_notebooks_show_only_the_name_of_a_large_program(monkeypatch):
    monkeypatch.setattr("phintys.making.compiled_function.MOST_NODES_SHOWN", 0)
    text = phintys.function([x], x * 2, name="<big>")._repr_html_()
    assert text.startswith("<pre>&lt;phintys function") and "&lt;big&gt;" in text and "explain(html=True)" in text


def test_names_cannot_end_the_script():
    evil = T.vector("</script><b>bold</b>")
    made = phintys.function([evil], evil * 2, name="<i>").explain(html=True)
    assert "<b>bold" not in made and "<title>&lt;i&gt;" in made


def test_bodies_of_loops_and_loaded_lines_are_in_the_page():
    rows, _ = phintys.scan(lambda row, before: T.tanh(row + before), sequences=m, outputs_info=x)
    data = data_of(phintys.function([m, x], rows, name="walk").explain(html=True))
    assert any(row["formulas"] == ["each step:"] for row in data["rows"])
    assert any(row["key"] and "-" in row["key"] for row in data["rows"])


# ---- in a browser ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def made():
    return trained().explain(html=True)


@needs_browser
def test_the_page_shows_its_tabs(made, tmp_path):
    shown = document(made, tmp_path)
    assert 'data-ready="yes"' in shown
    assert texts(shown, 'id="tab-') == ["program", "memory", "graph", "rewrites"]
    assert PROGRAM_SHOWN.search(shown)
    assert any("dot1: float64[50,3] = dot(m, w)" in text for text in texts(shown, 'class="code"'))
    assert re.search(r'class="meter time"><span>[\d.]+ \w+</span><i style="width: [\d.]+%', shown)


@needs_browser
def test_a_click_on_a_line_marks_its_instructions(made, tmp_path):
    click = (f"[...document.querySelectorAll('.used')].find(line => "
             f"line.querySelector('b').textContent === '{HIDDEN_LINE}').click()")
    shown = document(made, tmp_path, click)
    rows = re.findall(r'<tr id="row-\d+" class="selected( gradient)?">(.*?)</tr>', shown, re.DOTALL)
    assert any("dot1: float64" in row and not gradient for gradient, row in rows)
    assert any("gradient of line" in row for gradient, row in rows if gradient)
    assert len(rows) < len(re.findall("<tr id=", shown))


@needs_browser
def test_a_click_on_an_instruction_marks_its_lines(made, tmp_path):
    row = next(row["key"] for row in data_of(made)["rows"] if row["formulas"][0].startswith("dot1"))
    shown = document(made, tmp_path, f"document.getElementById('row-{row}').click()")
    marked, = texts(shown, 'class="line used selected"')
    assert marked.strip().startswith(str(HIDDEN_LINE)) and "hidden = T.tanh" in marked


@needs_browser
def test_an_address_selects_a_line_or_a_tab(made, tmp_path):
    assert "selected" in document(made, tmp_path, address=f"#line={HIDDEN_LINE}").partition("<header>")[2]
    assert re.search(r'<section class="graphs shown" id="graph">', document(made, tmp_path, address="#graph"))


@needs_browser
def test_the_graph_is_searched_and_zoomed(made, tmp_path):
    script = """
        const field = document.getElementById('search');
        field.value = 'tanh';
        field.dispatchEvent(new Event('input'));
        const svg = document.querySelector('.picture svg'), before = svg.getAttribute('viewBox');
        document.querySelectorAll('.tools button')[0].click();
        document.body.dataset.zoomed = svg.getAttribute('viewBox') !== before;
        document.querySelectorAll('.tools button')[2].click();
        document.body.dataset.back = svg.getAttribute('viewBox') === before;
    """
    shown = document(made, tmp_path, script, "#graph")
    assert re.search(r'id="found">[1-9]\d* found<', shown)
    assert '<g transform' in shown and 'class="found"' in shown and 'class="dim"' in shown
    assert 'data-zoomed="true"' in shown and 'data-back="true"' in shown


@needs_browser
def test_memory_is_drawn_and_leads_to_instructions(made, tmp_path):
    click = "document.querySelector('rect.piece').dispatchEvent(new Event('click'))"
    shown = document(made, tmp_path, click, "#memory")
    assert shown.partition("<header>")[2].count('<rect class="piece"') == len(data_of(made)["memory"]["pieces"])
    assert PROGRAM_SHOWN.search(shown) and re.search('<tr [^>]*class="selected"', shown)


@needs_browser
def test_the_frame_of_a_notebook_runs_the_page(tmp_path):
    text = trained()._repr_html_().replace('sandbox="allow-scripts"', "")       # so that the test can look inside
    script = """
        window.addEventListener('load', () => {
            const inside = document.querySelector('iframe').contentDocument;
            document.body.dataset.inside = inside.body.dataset.ready;
        });
    """
    shown = document(f"<!DOCTYPE html><html><body>{text}</body></html>", tmp_path, script)
    assert 'data-inside="yes"' in shown


@needs_browser
def test_a_page_without_a_program_is_shown(tmp_path):
    shown = document(page("only", {"graphs": {"graph": picture_of([x], [x + 1])}}), tmp_path)
    assert 'data-ready="yes"' in shown and "x + 1" in shown
