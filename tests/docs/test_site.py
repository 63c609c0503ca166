"""The site's pages belong together; its checks find what they look for. Building it is ``make docs``, not a test."""
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def module(name):
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    found = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(found)
    return found


def test_each_page_is_in_a_table_of_contents():
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for block in re.findall(r"^```{toctree}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            names = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed.update((page.parent / f"{name}.md").resolve() for name in names)
    # docs/site_pages.py lists these.
    generated = {"operations.md", "numpy.md", "configuration.md", "rewrites.md", "mathematics.md"}
    assert [page.name for page in PAGES if page not in listed and page.name not in generated] == []
    assert [page for page in listed if not page.exists() and page.parent.name != "reference"] == []


def places(path):
    """The names of the headings of a document, as links name them."""
    headings = re.findall(r"^#{1,3} (.*)$", CODE.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"],
                         ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_somewhere(page):
    for file, heading in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", CODE.sub("", page.read_text())):
        target = (page.parent / file).resolve() if file else page
        assert target.suffix != ".md" or heading in places(target), f"{file}#{heading}"


def test_a_site_is_checked(tmp_path):
    site = module("check_site")
    (tmp_path / "other.html").write_text('<p id="here">text</p>')
    (tmp_path / "style.css").write_text("p { color: red }")
    page = tmp_path / "index.html"
    page.write_text('<link rel="stylesheet" href="style.css"><img src="data:,"><a id="top" href="other.html#here">a</a>'
                    '<a href="#top">b</a><a href="https://example.org/x">c</a>')
    assert site.check(tmp_path) == []
    page.write_text('<script src="https://example.org/a.js"></script><img src="none.png">'
                    '<a href="other.html#there">a</a><a href="none.html">b</a><a href="#nowhere">c</a>')
    (tmp_path / "style.css").write_text("@import url('//example.org/font.css');")
    assert [line.split(" ", 1)[1] for line in site.check(tmp_path)] == [
        "loads https://example.org/a.js", "loads none.png, which does not exist",
        "links to other.html#there: the page has no such place", "links to none.html, which does not exist",
        "links to #nowhere: the page has no such place", "loads from elsewhere"]
    (tmp_path / "empty").mkdir()
    assert "has no pages" in site.check(tmp_path / "empty")[0]


def test_links_are_adapted_to_the_site(monkeypatch):
    pytest.importorskip("sphinx", reason="pip install phintys[docs]")
    monkeypatch.syspath_prepend(str(DOCS))
    pages = module("site_pages")
    text = ("[a](../ARCHITECTURE.md#terms) [b](faq.md) [c](../examples) [d](../examples/mlp.py) [e](https://x.y)\n"
            "```python\nf(x)[a](../examples)\n```\n[f](../README.md) [g](../tests/README.md)\n")
    found = pages.outside_of_code(text, lambda part: pages.LINK.sub(
        lambda link: pages.adapted(link, DOCS / "migration.md", "migration"), part))
    assert found == ("[a](architecture.md#terms) [b](faq.md) c [d](../examples/mlp.py) [e](https://x.y)\n"
                     "```python\nf(x)[a](../examples)\n```\n[f](index.md) g\n")
