"""The code in the documents runs: ``python`` blocks as they stand, ``pycon`` blocks with the output they show.

Blocks of one file run in order in one namespace, as a reader would type them.
"""
import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(f"docs/{path.relative_to(ROOT / 'docs').as_posix()}" for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = ["README.md", "docs/debugging.md", "docs/quickstart.md", "docs/installation.md",
             "docs/migration.md", "docs/faq.md", "docs/comparison.md",
             *(page for page in PAGES if page.startswith(("docs/guide/", "docs/howto/")))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(document, *languages):
    """(language, text, number of lines before it) of each block in one of the languages."""
    text = (ROOT / document).read_text()
    for match in BLOCK.finditer(text):
        if match[1] in languages:
            yield match[1], match[2], text.count("\n", 0, match.start(2))


def run_session(text, namespace, document, line):
    """Run an interactive session and compare what it prints."""
    session = doctest.DocTestParser().get_doctest(text, namespace, document, document, line)
    report = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(session, out=report.append, clear_globs=False)
    namespace.update(session.globs)
    assert runner.failures == 0, "".join(report)


@pytest.mark.usefixtures("theano_removed")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_code_runs(document, languages=("python", "pycon")):
    namespace = {"__name__": "document"}
    for language, text, line in blocks(document, *languages):
        if language == "pycon":
            run_session(text, namespace, document, line)
        else:
            exec(compile("\n" * line + text, str(ROOT / document), "exec"), namespace)


@pytest.mark.filterwarnings("ignore")
def test_code_with_pymc_runs():
    pytest.importorskip("pytensor_reference")
    pytest.importorskip("pymc", reason="PyMC is not installed: pip install phintys[pymc]")
    test_code_runs("docs/pymc.md")


def test_code_with_dask_and_mpi_runs():
    """Blocks that need them are written as ``py``."""
    pytest.importorskip("dask.distributed", reason="Dask is not installed: pip install phintys[dask]")
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install phintys[mpi]")
    test_code_runs("docs/guide/many_machines.md", ("python", "pycon", "py"))


@pytest.mark.filterwarnings("ignore")
def test_code_with_nutpie_runs():
    """Blocks that need nutpie are written as ``py``."""
    pytest.importorskip("pytensor_reference")
    pytest.importorskip("nutpie", reason="nutpie is not installed: pip install phintys[nutpie]")
    test_code_runs("docs/pymc.md", ("py",))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_cython_code_is_the_examples(document):
    kernel = (ROOT / "examples" / "out_of_tree_op" / "moving_average_kernel.pyx").read_text()
    for _, text, line in blocks(document, "cython"):
        assert text.strip() in kernel, f"{document}:{line} differs from the example"


def test_ci_runs_what_the_readme_says():
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    for command in ("pip install .", "make test"):
        assert re.search(rf"^{re.escape(command)}$", readme, re.MULTILINE), f"the README has no line {command!r}"
        assert re.search(rf"^\s*{re.escape(command)}$", script, re.MULTILINE), f".ci/run has no line {command!r}"


@pytest.mark.parametrize("document", ["README.md", *PAGES, "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md",
                                      "gpu/README.md"])
def test_links_to_files_lead_somewhere(document):
    folder = (ROOT / document).parent
    text = re.sub(r"^```.*?^```$", "", (ROOT / document).read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [target for target in targets if not (folder / target).exists()] == []


@pytest.mark.parametrize("document", [*DOCUMENTS, "ARCHITECTURE.md", "CONTRIBUTING.md", "gpu/README.md"])
def test_lines_have_at_most_120_columns(document):
    """Prose and tables, but for those that a script writes; blocks of code follow their own language."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / document).read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^<!-- (?!end).*?^<!-- end -->$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert [line for line in text.splitlines() if len(line) > 120] == []
