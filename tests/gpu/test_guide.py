"""The code of the guide's section on the GPU runs, with the output that it shows."""
import doctest
import re
from pathlib import Path

from phintys.graph.config import config

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "gpu.md"
BLOCK = re.compile(r"^```pycon gpu\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide(device):
    text = GUIDE.read_text()
    report, runner = [], doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    names = {}
    try:
        for match in BLOCK.finditer(text):
            session = doctest.DocTestParser().get_doctest(match[1], names, "guide", "gpu.md",
                                                          text.count("\n", 0, match.start(1)))
            runner.run(session, out=report.append, clear_globs=False)
            names.update(session.globs)
    finally:
        config.device = "cpu"
    assert runner.tries > 10 and runner.failures == 0, "".join(report)
