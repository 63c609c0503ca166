"""Theano's ``misc.strutil``: texts of C code."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["pretty_format", "render_string", "strip_leading_white_space"]


def render_string(string: str, sub: Mapping[str, int]) -> str:
    """Return ``string % sub``; the error for a text that cannot be filled in shows where.

    Raises
    ------
    ValueError
        If it cannot be filled in.

    Examples
    --------
    >>> render_string("%(a)s + %(b)s", {"a": 1, "b": 2})
    '1 + 2'
    >>> render_string("%(a)s + %(b)s", {"a": 1})
    Traceback (most recent call last):
        ...
    ValueError: %(a)s + %(b)<<<< caused exception 'b'
    """
    try:
        return string % sub
    except Exception as error:
        for end in range(len(string) + 1):
            try:
                string[:end] % sub
            except Exception as shorter:
                if str(shorter) == str(error):
                    raise ValueError(f"{string[:end]}<<<< caused exception {error}") from None
        raise


def strip_leading_white_space(line: str) -> str:
    """Return a line without blanks and tabs at its start.

    Examples
    --------
    >>> strip_leading_white_space("    x = 1 ")
    'x = 1 '
    """
    return line.lstrip(" \t")


def pretty_format(string: str) -> str:
    """Return C code with lines indented by the braces around them.

    Examples
    --------
    >>> print(pretty_format("if (x) {\\ny = 1;\\n}"))
    if (x) {
        y = 1;
    }
    """
    lines, depth = [], 0
    for line in string.split("\n"):
        depth = max(depth - line.count("}"), 0)
        lines.append("    " * depth + strip_leading_white_space(line))
        depth += line.count("{")
    return "\n".join(lines)
