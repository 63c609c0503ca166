"""Writes rewrites.md from the tables of rewrites: ``python docs/write_rewrites.py``.

A test fails when the page is out of date."""
import textwrap
from importlib import import_module
from pathlib import Path

from phintys.optimizer.engine.database import CHANGES, FAST_RUN, Rewrite
from phintys.optimizer.pipeline import all_rewrites

PAGE = Path(__file__).with_name("rewrites.md")

HEAD = """# Rewrites, and what each may change

Written by `docs/write_rewrites.py` from the tables in `optimizer/`; edit these, not this file.

`phintys.config.math_rules` says which rewrites the optimizer may use:

* `"strict"`: none whose row says *range*, *nan* or *errors*: infinities, zeros, NaN and errors are those of the graph
  as it is written. Programs may be slower, and logarithms of sums of exponentials overflow as written.
* `"theano"`, the default: all. But products and quotients under a power stay together, so that a scaled norm such as
  `m * sqrt(sum((x / m)**2))` is finite wherever its result is and `1 / m` is finite.
* `"fast"`: powers are taken out of products and sums, too: `sum((x / s)**2)` is `sum(x**2) / s**2`, which saves a
  division for each element, but is not finite where `x**2` or `s**2` is not. Divisions by constants are
  multiplications by their inverses: `x / 10` may differ in the last digit. PyTensor's functions and log-densities of
  PyMC's models are compiled under it, unless the rules are strict.

`mode.excluding` leaves out a rewrite by its name, or all that may change something, as in
`mode.excluding("changes_nan")`. A rewrite may change:

"""
WIDTH = 118


def identity_of(rewrite):
    """The sentence or formula of a rewrite or of a stage."""
    if isinstance(rewrite, Rewrite):
        return rewrite.identity
    module, function = getattr(rewrite.function, "place", (None, None))
    documented = rewrite.function if module is None else getattr(import_module(module), function)
    return " ".join((documented.__doc__ or "").split("\n\n")[0].split())


def row(name, rewrite):
    """The entry of one rewrite."""
    text = identity_of(rewrite).split("; return")[0].replace("``", "`").rstrip(".")
    if isinstance(rewrite, Rewrite) and FAST_RUN not in rewrite.tags:
        text += " (only if a mode includes it)"
    changes = f" *May change: {', '.join(rewrite.changes)}.*" if rewrite.changes else ""
    return textwrap.fill(f"* `{name}`: {text}.{changes}", WIDTH, subsequent_indent="  ", break_on_hyphens=False,
                         break_long_words=False)


def page():
    """The text of rewrites.md."""
    lines, family = [HEAD.rstrip("\n"), ""], None
    lines += [f"* *{what}*: {meaning};" for what, meaning in CHANGES.items()]
    lines[-1] = lines[-1][:-1] + "."
    for where, rewrite in all_rewrites():
        is_stage = not isinstance(rewrite, Rewrite)
        title = "Passes over whole graphs" if is_stage else f"Family `{where}`"
        if title != family:
            lines += ["", f"## {title}", ""]
            family = title
        if not is_stage or identity_of(rewrite):
            lines.append(row(where if is_stage else rewrite.name, rewrite))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
