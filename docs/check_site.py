"""Checks the built site: ``python docs/check_site.py build/site``.

Every link inside the site leads to a page, and to a place on it that exists; no page loads a script, a style, a font or
a picture from elsewhere, so that the site works without a network. What is wrong is printed; then the exit status is 1.
"""
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
OTHERS = ("_static", "benchmarks")             # templates of the theme; pages of asv
STYLE_ADDRESS = re.compile(r"(?:url\(|@import\s+)['\"]?(https?:)?//")


class Page(HTMLParser):
    """The anchors of a page, its links, and the addresses of what it loads."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        address = values.get(LOADED.get(tag, ""))
        if address and not (tag == "link" and values.get("rel") in ("canonical", "author")):
            self.loaded.append(address)


def problems_of(path, pages, root):
    """Yield what is wrong with a page."""
    page = pages[path]
    for address in page.loaded:
        if urlsplit(address).netloc:
            yield f"loads {address}"
        elif address and not address.startswith("data:") and not target_of(path, address, root).exists():
            yield f"loads {address}, which does not exist"
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = target_of(path, link, root) if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.exists():
            yield f"links to {link}, which does not exist"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"links to {link}: the page has no such place"


def target_of(path, address, root):
    """The file that an address on a page leads to."""
    name = unquote(urlsplit(address).path)
    return (root / name.lstrip("/") if name.startswith("/") else path.parent / name).resolve()


def check(root):
    """Return all that is wrong with a site, a line each."""
    root = Path(root).resolve()
    paths = [path for path in sorted(root.rglob("*.html")) if path.relative_to(root).parts[0] not in OTHERS]
    if not paths:
        return [f"{root} has no pages"]
    pages = {path: Page(path) for path in paths}
    wrong = [f"{path.relative_to(root)} {problem}" for path in paths
             for problem in dict.fromkeys(problems_of(path, pages, root))]
    wrong += [f"{path.relative_to(root)} loads from elsewhere" for path in sorted(root.rglob("*.css"))
              if path.relative_to(root).parts[0] != "benchmarks" and STYLE_ADDRESS.search(path.read_text())]
    return wrong


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found) or f"{sys.argv[1]}: all links lead somewhere, nothing is loaded from elsewhere")
    sys.exit(bool(found))
