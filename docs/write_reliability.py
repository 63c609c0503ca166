"""Writes reliability.md from the result files of the campaigns: ``python docs/write_reliability.py [FOLDER]``.

With a folder (``build/campaign``), its result files are taken into ``docs/campaigns.json`` first; a test fails when the
page is out of date.
"""
import json
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE, FIGURES = DOCS / "reliability.md", DOCS / "campaigns.json"

HEAD = """# Reliability: what is promised, and how it is tested

Written by `docs/write_reliability.py` from `docs/campaigns.json`, which holds the results of `make campaign-NAME`.

| promise | shown by |
|---|---|
| A call that raises has changed no shared variable, and the next call is right. | `make campaign-faults`, \
`tests/vm/machine/test_faults.py` |
| Once shared variables have their new values, nothing can fail: not even the list of results lacks memory. | \
`tests/vm/machine/test_faults.py` |
| No buffer is lost, whatever fails. | `make campaign-faults` |
| Ctrl-C ends a call within 100 ms, and it changes nothing. What BLAS and LAPACK compute ends first. | \
`make campaign-signals`, `tests/vm/machine/test_interrupts.py` |
| Modes agree up to rounding; a function that is saved, pickled or copied computes the same bits. | \
`make campaign-random`, `tests/api/test_random_programs.py` |
| Infinities, NaN, signed zeros, integers that overflow and lengths of 0 give what NumPy gives; optimized, too, under \
`math_rules="strict"`. | `tests/ops/test_corners.py`, `tests/optimizer/engine/test_math_rules.py` |
| PyTensor's functions compute what its Python mode computes. | `make campaign-random`, `tests/api/interop` |
| Threads may share a function; processes may fork, spawn and end while calls run. | `make campaign-threads`, \
`make campaign-forks` |
| No kernel reads or writes outside of its operands. | `make campaign-sanitizers`, `tests/vm/test_guards.py` |
| A file that is damaged, or made by hand, is refused before anything of it runs. | `tests/vm/files` |
| The wheel of a commit has the same bytes wherever and whenever it is built. | `make wheel-check` |
| A mistake is told with what, where, and what was expected. | `tests/api/test_mistakes.py` |

What is not promised: that Python code inside a call (`perform`, callbacks, finalizers) leaves alone what it may change;
that results agree to the bit between modes, machines and versions of NumPy, SciPy and BLAS; that `argsort` by
quicksort orders equal elements alike in each memory layout (DebugMode may report this); that CPython and these
libraries survive it when their own allocations fail; limits on time and memory of programs that others wrote (see
`SECURITY.md`).

A campaign is a row of numbered units that goes on where the last run stopped. A unit that raises, that ends its
process, or that a sanitizer reports is a find. Finds are mended with their kind, and a test is left behind. Campaigns
without a row (sanitizers, mutants) are there, but no run of theirs is long enough for a figure.

## Figures

| campaign | what | units | checks | finds | when, for how long | at |
|---|---|---|---|---|---|---|
"""


def row(result):
    """The line of a campaign."""
    runs = result["runs"]
    return (f"| `{result['campaign']}` | {result['what']} | {result['units']:,} | {result['checks']:,} | "
            f"{len(result['finds'])} | {runs[0]['date']} to {runs[-1]['date']}, "
            f"{sum([run['seconds'] for run in runs]) / 60:.0f} minutes | {runs[-1]['commit']}, Python "
            f"{runs[-1]['python']} |")


def finds(result):
    """What was found, in a line each."""
    return [f"* `{result['campaign']}`: {find['mended']}" for find in result["finds"] if "mended" in find]


def page():
    """The text of the page."""
    results = json.loads(FIGURES.read_text())
    lines = [row(result) for result in results]
    found = [line for result in results for line in finds(result)]
    text = HEAD + "\n".join(lines) + "\n"
    return text + ("\n## What was found and mended\n\n" + "\n".join(found) + "\n" if found else "")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        kept = {result["campaign"]: result for result in json.loads(FIGURES.read_text())} if FIGURES.exists() else {}
        for path in Path(sys.argv[1]).glob("*.json"):
            result = json.loads(path.read_text())
            kept[result["campaign"]] = result
        FIGURES.write_text(json.dumps([kept[name] for name in sorted(kept)], indent=1) + "\n")
    PAGE.write_text(page())
