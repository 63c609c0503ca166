"""asv's pages with the scripts that they load beside them."""
import base64
import hashlib
import runpy
from pathlib import Path

import pytest

OFFLINE = runpy.run_path(str(Path(__file__).parents[2] / "asv_bench" / "offline_pages.py"))
HASH = base64.b64encode(hashlib.sha256(b"of jquery@3.3.1").digest()).decode()
PAGE = f"""<html><script src="https://code.example/jquery-3.3.1.min.js" crossorigin="anonymous"
integrity="sha256-{HASH}" onerror="failed()"></script><script src="asv.js"></script>
<link rel="stylesheet" href="https://cdn.example/bootstrap@3.1.1/dist/css/bootstrap.min.css">
<a href="https://example.org/">asv</a></html>"""


def content_of(package, file):
    return f"of {package}".encode()


def test_scripts_are_files_beside_the_page(tmp_path):
    (tmp_path / "index.html").write_text(PAGE)
    assert OFFLINE["make_local"](tmp_path, content_of) == 2
    text = (tmp_path / "index.html").read_text()
    assert '<script src="jquery-3.3.1.min.js"' in text and 'href="bootstrap.min.css"' in text
    assert "integrity" not in text and 'onerror="failed()"' in text
    assert text.count("https://") == 1 and 'src="asv.js"' in text
    assert (tmp_path / "jquery-3.3.1.min.js").read_text() == "of jquery@3.3.1"


@pytest.mark.parametrize(("page", "message"), [
    (PAGE.replace("jquery-3.3.1", "another"), "no package is known that has https://code.example/another.min.js"),
    (PAGE.replace(HASH, "AAAA"), "dist/jquery.min.js of jquery@3.3.1 is not the file that the page asks for")])
def test_another_file_is_refused(tmp_path, page, message):
    (tmp_path / "index.html").write_text(page)
    with pytest.raises(ValueError, match=message):
        OFFLINE["make_local"](tmp_path, content_of)
    assert (tmp_path / "index.html").read_text() == page
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_each_script_of_asv_is_known():
    asv = pytest.importorskip("asv")
    text = (Path(asv.__file__).parent / "www" / "index.html").read_text()
    addresses = [match["address"] for match in OFFLINE["TAG"].finditer(text)]
    assert addresses and {address.rpartition("/")[2] for address in addresses} <= set(OFFLINE["SOURCES"])
