"""A page as one HTML document: its data, the script that shows them, and the style, all in one text.

Data are embedded as JSON, and the script writes them as text only, so nothing in a program or its source is ever read
as HTML or as code. Nothing is loaded from anywhere.
"""
from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).parent
FRAME_HEIGHT = 640

DOCUMENT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


class Page(str):
    """An HTML document; notebooks show it in a frame.

    Examples
    --------
    >>> import phintys
    >>> x = phintys.tensor.dvector("x")
    >>> page = phintys.function([x], x * 2).explain(html=True)
    >>> page.startswith("<!DOCTYPE html>")
    True
    """

    def save(self, path: Any) -> Any:
        """Write the document to a file.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        pathlib.Path
        """
        path = Path(path)
        path.write_text(self, encoding="utf-8")
        return path

    def _repr_html_(self):
        return (f'<iframe srcdoc="{html.escape(self)}" style="width: 100%; height: {FRAME_HEIGHT}px; '
                f'border: 1px solid #8888" sandbox="allow-scripts"></iframe>')


def page(title: str, data: Mapping[str, str | Sequence[Any] | None]) -> Page:
    """Return a page.

    Parameters
    ----------
    title : str
    data : dict
        What ``page.js`` shows: its keys are the tabs.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    style, script = [(HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")]
    return Page(DOCUMENT.format(title=html.escape(title), style=style, data=text, script=script))
