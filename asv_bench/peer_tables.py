"""Makes the tables of times in README.md and docs/comparison.md from what the scripts that time other libraries print.

    python asv_bench/peer_tables.py FILE...                 # the rows of README.md
    python asv_bench/peer_tables.py --all FILE... float32=FILE      # every row of every table; titles get a label

A file has tables in Markdown, each after a heading with its unit::

    ### Call overhead, 1 thread [microseconds per call; ratio to the row's best in brackets]

    | case | numpy | jax | phintys |
    |---|---|---|---|
    | x+1 0-d | 0.538 (8.49) | 4.41 (69.59) | **0.0634** |

Its own brackets and bold numbers are dropped. In what is printed, a bracket says how many times as fast phintys is
(above 1, phintys is ahead), and bold is the faster one where that is another library. When a case was measured more
than once, the best of each library counts. ``--into README.md avx512`` replaces the lines between ``<!-- avx512 -->``
and ``<!-- end -->`` in a document, instead of printing.
"""
import argparse
import re
import sys
from pathlib import Path

OURS = "phintys"
NAMES = {"numpy": "NumPy", "numexpr": "numexpr", "theano": "Theano", "pytensor": "PyTensor",
         "pytensor-c": "PyTensor in C", "jax": "JAX", "torch": "PyTorch", "torch-compile": "torch.compile",
         "torch-script": "TorchScript", "torch-rnn": "torch.nn.RNN", "scipy": "SciPy", "numba": "Numba"}
HEADING = re.compile(r"^### (?P<title>.*?) \[(?P<unit>[^;\]]*)")
HIGHER_IS_BETTER = re.compile(r"(per|a) second|/s$")

# Rows of README.md: title of the table, case, what is written, and what a value is multiplied by.
HEADLINES = [
    ("Call overhead, 1 thread", "x+1 1 element", "call of `x + 1` on one element, µs", 1),
    ("Call overhead, 1 thread", "20-op chain N=10", "chain of 20 operations on ten elements, µs", 1),
    ("Call overhead, 1 thread", "10 dot + 10 tanh N=10", "10 products of 10 × 10 and 10 tanh in turn, µs", 1),
    ("Elementwise, 1 thread", "transc N=1e4", "`exp(-a**2)*tanh(b)+log1p(exp(a))`, 10⁴ elements, µs", 1),
    ("Elementwise, 1 thread", "a^2+b^2+2ab N=1e5", "`a**2+b**2+2*a*b`, 10⁵ elements, µs", 1),
    ("Elementwise, 1 thread", "a+1 N=1e6", "`a+1`, 10⁶ elements, µs", 1),
    ("Elementwise, 1 thread", "2a+3b N=1e7", "`2*a+3*b`, 10⁷ elements, ms", 1e-3),
    ("Logistic regression, 1 thread", "steps/s", "logistic regression, 400 × 784, steps a second", 1),
    ("MLP 784-500-10 batch 60, 1 thread", "float64", "network 784-500-10, minibatches of 60, examples a second", 1),
    ("MLP 784-500-10 batch 60, 1 thread", "float32", "the same in float32", 1),
    ("MLP 784-500-10 batch 60, 2 threads", "float64", "the same in float64 on two threads", 1),
    ("Scan / RNN, 1 thread", "h64 b32 fwd+grad", "recurrent network, 64 units, batch 32: a step with gradient, µs", 1),
    ("Convnet 256x256, 1 thread", "train batch 16", "convolutions, 16 images of 256 × 256: a training step, ms", 1),
    ("Compile time, graph to first result", "logreg", "compile the logistic regression, CPU s", 1),
    ("Compile time, graph to first result", "chain 1000", "compile a chain of 1000 products and tanh, CPU s", 1),
]


def read(paths):
    """Return ``{(title, unit): {case: {library: value}}}`` of all tables of some files."""
    tables = {}
    for path in map(str, paths):
        label, _, path = path.rpartition("=")
        rows, libraries = None, []
        for line in Path(path).read_text().splitlines():
            if heading := HEADING.match(line):
                title = f"{heading['title']}, {label}" if label else heading["title"]
                rows, libraries = tables.setdefault((title, heading["unit"]), {}), []
                higher = HIGHER_IS_BETTER.search(heading["unit"])
            elif rows is not None and line.startswith("| case |"):
                libraries = cells(line)[1:]
            elif libraries and line.startswith("| "):
                case, *values = cells(line)
                known = rows.setdefault(case, {})
                for library, text in zip(libraries, values):
                    if (value := number(text)) is not None:
                        best = max if higher else min
                        known[library] = best(value, known.get(library, value))
    return tables


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number(text):
    """The number of a cell, without bracket and stars; None for a dash."""
    found = re.match(r"\**([\d.]+(?:e[+-]?\d+)?)\**", text.replace(",", ""))
    return float(found[1]) if found else None


def times_as_fast(ours, other, unit):
    """How many times as fast phintys is."""
    return ours / other if HIGHER_IS_BETTER.search(unit) else other / ours


def written(value):
    """Three digits, or a whole number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def compared(ours, other, unit, name="", scale=1):
    """A value of another library, and in brackets how many times as fast phintys is."""
    ratio = times_as_fast(ours, other, unit)
    text = written(other * scale)
    shown = (f"**{text}**" if ratio < 0.995 else text) + (f", {name}" if name else "")
    return f"{shown} ({ratio:.0f})" if ratio >= 99.5 else f"{shown} ({ratio:.2g})"


def headline(table, unit, case, label, scale):
    """A row of README.md: phintys, NumPy, and the best of all others; None if phintys was not measured."""
    values = dict(table.get(case, {}))
    ours = values.pop(OURS, None)
    if ours is None:
        return None
    numpy = values.pop("numpy", None)
    beside = compared(ours, numpy, unit, scale=scale) if numpy is not None else ""
    others = sorted(values.items(), key=lambda item: times_as_fast(ours, item[1], unit))
    best = compared(ours, others[0][1], unit, NAMES.get(others[0][0], others[0][0]), scale) if others else ""
    return f"| {label} | {written(ours * scale)} | {beside} | {best} |"


def headlines(tables):
    """The table of README.md, as far as it was measured."""
    lines = ["| | phintys | NumPy | best other |", "|---|---|---|---|"]
    for title, case, label, scale in HEADLINES:
        for (known, unit), table in tables.items():
            if known == title and (row := headline(table, unit, case, label, scale)):
                lines.append(row)
    return lines


def everything(tables):
    """A table for each that was read: phintys, and all others with their brackets."""
    lines = []
    for (title, unit), table in tables.items():
        measured = {case: values for case, values in table.items() if OURS in values}
        if not measured:
            continue
        others = list(dict.fromkeys(library for values in measured.values() for library in values if library != OURS))
        lines += [f"### {title}", "", f"{unit[:1].upper()}{unit[1:]}.", "",
                  f"| | phintys | {' | '.join(NAMES.get(library, library) for library in others)} |",
                  "|---|---|" + "---|" * len(others)]
        for case, values in measured.items():
            beside = [compared(values[OURS], values[library], unit) if library in values else "" for library in others]
            lines.append(f"| {case} | {written(values[OURS])} | {' | '.join(beside)} |")
        lines.append("")
    return lines


def replaced(text, mark, lines):
    """Return a document with other lines between ``<!-- mark -->`` and the next ``<!-- end -->``."""
    begin, end = f"<!-- {mark} -->\n", "<!-- end -->"
    before, found, after = text.partition(begin)
    _, ended, rest = after.partition(end)
    if not found or not ended:
        raise SystemExit(f"the document has no lines {begin.strip()} and {end}")
    return f"{before}{begin}\n{chr(10).join(lines).strip()}\n\n{end}{rest}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="[LABEL=]FILE", help="what the scripts printed")
    parser.add_argument("--all", action="store_true", help="every row of every table, not only those of README.md")
    parser.add_argument("--into", nargs=2, metavar=("DOCUMENT", "MARK"), help="replace a part of a document")
    arguments = parser.parse_args()
    tables = read(arguments.files)
    lines = everything(tables) if arguments.all else headlines(tables)
    if not any(values for table in tables.values() for values in table.values()):
        sys.exit("no file has a table with a heading '### title [unit; ...]'")
    if arguments.into:
        document, mark = Path(arguments.into[0]), arguments.into[1]
        document.write_text(replaced(document.read_text(), mark, lines))
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
