"""Measures the source: lengths of functions, share of comments, files per folder: ``python docs/measure_code.py``.

Arguments are the roots of source trees (this one by default), so that two commits can be compared:
``git worktree add ../before COMMIT``, then ``python docs/measure_code.py ../before .``. Git is not needed otherwise.

A function's length is its number of lines from ``def`` to its last statement, without its docstring, blank lines and
comments; nested functions count in their own right and in the one around them. Comments are lines that hold nothing
else, and docstrings. Headers of C are counted for comments and files only, stubs (``.pyi``) for files only.
"""
import io
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path
from statistics import median, quantiles

FOLDERS = ("api", "graph", "vm", "ops", "optimizer", "gpu")
SUFFIXES = {".py", ".pyx", ".pxd", ".pxi", ".h", ".pyi"}
DEFINITION = re.compile(r"\s*(?:async\s+)?(?:def|cpdef|cdef\b(?!\s*(?:class|struct|enum|extern|object\s+\w+$)))\s*.*\(")
SKIPPED = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER}
HEADER_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def kinds_of_lines(text):
    """The numbers of lines that hold code, and of those that hold only comments and docstrings."""
    code, comments, at_start = set(), set(), True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        lines = range(token.start[0], token.end[0] + 1)
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and at_start):
            comments.update(lines)
        elif token.type not in SKIPPED:
            code.update(lines)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            at_start = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return code, comments - code


def statements(text, code):
    """First and last line of each statement that spans lines in brackets, and of each other line of code."""
    start = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.start[0] in code and start is None and token.type not in SKIPPED:
            start = token.start[0]
        if token.type == tokenize.NEWLINE:
            if start is not None:
                yield start, token.start[0]
            start = None


def indent(line):
    return len(line) - len(line.lstrip())


def function_lengths(text, code):
    """The number of lines of code of each function with a body, its ``def`` included."""
    lines, parts, open_functions = text.splitlines(), list(statements(text, code)), []
    for start, end in parts:
        margin = indent(lines[start - 1])
        while open_functions and open_functions[-1][0] >= margin:
            yield open_functions.pop()[1]
        count = sum(number in code for number in range(start, end + 1))
        for function in open_functions:
            function[1] += count
        has_body = lines[end - 1].split("#")[0].rstrip().endswith(":")
        if has_body and DEFINITION.match(lines[start - 1]):
            open_functions.append([margin, count])
    yield from (length for _, length in open_functions)


def measure(root):
    """Lengths of all functions, lines of comments, all lines that are not blank, and files by folder."""
    lengths, comments, filled, files = [], 0, 0, Counter()
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES):
        files[str(path.parent.relative_to(root))] += 1
        text = path.read_text()
        if path.suffix == ".h":
            comments += sum(found.count("\n") + 1 for found in HEADER_COMMENT.findall(text))
        elif path.suffix != ".pyi":
            code, alone = kinds_of_lines(text)
            lengths += function_lengths(text, code)
            comments += len(alone)
        if path.suffix != ".pyi":
            filled += sum(bool(line.strip()) for line in text.splitlines())
    return lengths, comments, filled, files


def report(root):
    lengths, comments, filled, files = measure(root)
    (fullest, most), = files.most_common(1)
    print(f"{root}: {sum(files.values())} files in {len(files)} folders, {filled} lines that are not blank")
    print(f"  functions: {len(lengths)}; lines of code: median {median(lengths):g}, "
          f"95th percentile {quantiles(lengths, n=20)[-1]:.0f}, max {max(lengths)}")
    print(f"  comments and docstrings: {comments / filled:.0%} of the lines")
    print(f"  files per folder: median {median(files.values()):g}, max {most} ({fullest}/)")


if __name__ == "__main__":
    for argument in sys.argv[1:] or [Path(__file__).parents[1]]:
        report(Path(argument))
