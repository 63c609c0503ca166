"""Theano's ``misc.strutil``: texts of C code."""

__all__ = ["pretty_format", "render_string", "strip_leading_white_space"]


def render_string(string, sub):
    """Return ``string % sub``; the error for a text that cannot be filled in shows where.

    Raises
    ------
    ValueError
        If it cannot be filled in.
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


def strip_leading_white_space(line):
    """Return a line without blanks and tabs at its start."""
    return line.lstrip(" \t")


def pretty_format(string):
    """Return C code with lines indented by the braces around them."""
    lines, depth = [], 0
    for line in string.split("\n"):
        depth = max(depth - line.count("}"), 0)
        lines.append("    " * depth + strip_leading_white_space(line))
        depth += line.count("{")
    return "\n".join(lines)
