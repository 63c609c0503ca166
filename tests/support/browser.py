"""A real browser for tests of pages: headless Chromium, which runs the page's script and writes the document back."""
import os
import re
import shutil
import subprocess
from html import unescape

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PROGRAM = os.environ.get("PHINTYS_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
SECONDS = 60

needs_browser = pytest.mark.skipif(PROGRAM is None, reason=f"no browser is installed ({', '.join(NAMES)}), and the "
                                   "environment variable PHINTYS_BROWSER names none")


def document(page, folder, script="", address=""):
    """What a page looks like after its script has run, and then more script, as HTML.

    Parameters
    ----------
    page : str
    folder : path
        For files.
    script : str
        JavaScript that runs after that of the page.
    address : str
        Appended to the page's address, as ``#line=3``.

    Returns
    -------
    str
    """
    path = folder / "page.html"
    path.write_text(page.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=2000", "--window-size=1400,900"]
    done = subprocess.run([PROGRAM, *options, "--dump-dom", f"{path.as_uri()}{address}"], capture_output=True,
                          timeout=SECONDS, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def texts(html, pattern):
    """The texts of the elements whose start tags match a pattern; tags inside them are left out."""
    found = re.findall(rf"<(\w+)[^>]*{pattern}[^>]*>(.*?)</\1>", html, re.DOTALL)
    return [unescape(re.sub(r"<[^>]+>", "", text)) for _, text in found]
