"""Pages of the site that come from elsewhere: an extension of Sphinx.

* ``reference/`` has a page for each heading of operations.md, and one for each function of ``phintys.tensor`` and its
  modules, with the whole docstring of every public name. The names and headings are those of ``write_operations.py``,
  so a public name without a docstring fails the build here, too.
* Documents at the repository's root (``ARCHITECTURE.md``, ...) are pages of the site.
* Links between documents are written for readers of the repository. On the site a link to a root document leads to its
  page, one to another file downloads it, and one to a folder is plain text.
"""
import inspect
import os
import re
from pathlib import Path

import write_operations
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring

from phintys.ops.elementwise.elementwise import Elemwise

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
# Page of the site → document at the root that it shows.
ROOT_DOCUMENTS = {"architecture": "ARCHITECTURE.md", "contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md",
                  "theano_programs": "examples/theano_programs/README.md", "gpu_kernels": "gpu/README.md"}
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~|:::).*?^\1[`~:]*$", re.MULTILINE | re.DOTALL)
LONG_PREFIXES = {"T.": "phintys.tensor."}
# Types are plain text: "sequence of variables" is no class to link to.
SETTINGS = Config(napoleon_use_rtype=False, napoleon_use_param=False, napoleon_use_keyword=False)


# ---- links and root documents ----------------------------------------------------------------------------------------
def read_source(app, docname, source):
    """Replace a page that stands for a root document by its text, and adapt the links of every page in Markdown."""
    path = DOCS / f"{docname}.md"
    if docname in ROOT_DOCUMENTS:
        path = ROOT / ROOT_DOCUMENTS[docname]
        app.env.note_dependency(str(path))
        source[0] = path.read_text()
    if path.exists():
        source[0] = outside_of_code(source[0], lambda text: LINK.sub(lambda link: adapted(link, path, docname), text))


def outside_of_code(text, change):
    """Return a text in which all but its blocks of code has changed."""
    parts, place = [], 0
    for block in FENCE.finditer(text):
        parts += [change(text[place:block.start()]), block.group()]
        place = block.end()
    return "".join([*parts, change(text[place:])])


def adapted(link, document, docname):
    """Return a link of a document as it has to be on the site."""
    text, target = link[1], link[2]
    file, mark, anchor = target.partition("#")
    if not file or ":" in file:
        return link.group()
    path = (document.parent / file).resolve()
    pages = {ROOT / document: page for page, document in ROOT_DOCUMENTS.items()} | {ROOT / "README.md": "index"}
    if path in pages:
        return f"[{text}]({relative(docname, pages[path] + '.md')}{mark}{anchor})"
    if path.is_dir() or path.suffix == ".md" and DOCS not in path.parents:          # no page of the site
        return text
    return f"[{text}]({relative(docname, path)}{mark}{anchor})"


def relative(docname, target):
    """Return the path from a page to a file: absolute, or relative to ``docs``."""
    return Path(os.path.relpath(DOCS / target, (DOCS / docname).parent)).as_posix()


# ---- the reference ---------------------------------------------------------------------------------------------------
def write_reference(app):
    """Write a page for each heading that lists public names; files that did not change are left as they are."""
    folder = DOCS / "reference"
    folder.mkdir(exist_ok=True)
    entries, values = write_operations.public_values()
    pages = {}
    for key, names in entries.items():
        heading = write_operations.family_of(values[key])
        if heading:
            pages.setdefault(heading, []).append((names, values[key]))
    introductions = {}
    for heading, introduction, _ in write_operations.FAMILIES:
        introductions[heading] = " ".join(filter(None, [introductions.get(heading), introduction]))
    texts = {}
    for heading in [heading for heading in introductions if heading in pages]:
        entries = sorted(pages[heading], key=write_operations.place)
        own = [entry for entry in entries if has_page(*entry)]
        texts[f"{file_name(heading)}.rst"] = page(heading, introductions[heading], own,
                                                  [entry for entry in entries if entry not in own])
        texts.update({f"{names[0]}.rst": page_of_name(names, value) for names, value in own})
    texts["index.rst"] = index([file_name(heading) for heading in introductions if heading in pages])
    for old in set(folder.iterdir()) - {folder / name for name in texts}:
        old.unlink()
    for name, text in texts.items():
        file = folder / name
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def file_name(heading):
    return re.sub(r"\W+", "-", heading.lower()).strip("-")


def titled(text, line):
    return [text, line * len(text), ""]


def index(pages):
    return "\n".join([
        *titled("Reference", "="),
        "Every public name with its whole docstring. :doc:`../operations` lists all names on one page, "
        ":doc:`../configuration` all options.", "",
        ".. toctree::", "   :maxdepth: 1", "",
        *(f"   {page}" for page in pages),
        *(f"   ../{page}" for page in ("operations", "numpy", "configuration", "rewrites", "mathematics")), ""])


def has_page(names, value):
    """Whether a value is a function of ``phintys.tensor`` or its modules, with a page of its own."""
    return names[0].startswith("T.") and not isinstance(value, type)


def page_of_name(names, value):
    """The page of a function: all its names, its docstring, what shape the result has, and NumPy's counterpart."""
    lines = [*titled(long_name(names[0]), "="), *described(names, value)]
    for title, text in (("Shapes", write_operations.shapes(value)),
                        ("Counterpart", write_operations.counterpart(names))):
        if text:
            lines += [*titled(title, "-"), as_rst(text), ""]
    return "\n".join(lines)


def page(heading, introduction, own, entries):
    """A page of the reference: links to the pages of functions, then what has no page of its own."""
    lines = [*titled(heading, "="), as_rst(introduction), ""]
    if own:
        lines += [".. toctree::", "   :maxdepth: 1", "", *[f"   {names[0]}" for names, _ in own], ""]
    for names, value in entries:
        lines += described(names, value)
    return "\n".join(lines)


def as_rst(markdown):
    """Text with code in single backticks, as reStructuredText."""
    return re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", markdown)


def described(names, value):
    """The directive of one value: all its names, its docstring, and the methods of a class."""
    is_class = isinstance(value, type)
    called = write_operations.signature(value)
    names = [long_name(name) for name in names]
    lines = directive("class" if is_class else "function", [names[0] + called, *names[1:]], documented(value))
    if is_class:
        for name, member in methods_of(value):
            kind, signature = "method", ""
            if isinstance(member, property) or not callable(member):
                kind = "attribute"
                if re.search(rf"^{name} : ", inspect.getdoc(value), re.MULTILINE):      # under "Attributes" already
                    continue
            else:
                signature = method_signature(member)
            lines += indented(directive(kind, [name + signature], inspect.getdoc(member)))
    return lines


def long_name(name):
    for short, long in LONG_PREFIXES.items():
        if name.startswith(short):
            return long + name.removeprefix(short)
    return name if name.startswith("phintys.") else f"phintys.{name}"


def documented(value):
    """The docstring of what a name is: of a function, of a class, or of the op behind it."""
    value = value.scalar_op if isinstance(value, Elemwise) else value
    if isinstance(value, type) or inspect.isroutine(value) or isinstance(value, write_operations.Op):
        return inspect.cleandoc(value.__doc__)
    return inspect.cleandoc(type(value).__call__.__doc__)


def methods_of(kind):
    """Public methods and properties of a class that have a docstring; those of ops are the protocol that `Op` shows."""
    if issubclass(kind, write_operations.Op) and kind is not write_operations.Op:
        return []
    found = {}
    for base in kind.__mro__:
        if base.__module__.startswith("phintys"):
            for name, member in vars(base).items():
                if not name.startswith("_") and name not in found:
                    found[name] = getattr(member, "__func__", member)
    return [(name, member) for name, member in sorted(found.items())
            if (callable(member) or isinstance(member, property)) and getattr(member, "__doc__", None)
            and not isinstance(member, type)]


def method_signature(member):
    try:
        parameters = list(inspect.signature(member).parameters.values())
    except (TypeError, ValueError):
        return "()"
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    return "(" + ", ".join(write_operations.named(parameter) for parameter in parameters) + ")"


def directive(kind, signatures, docstring):
    text = str(NumpyDocstring(docstring or "", SETTINGS, what=kind)).rstrip()
    first, *others = signatures
    lines = [f".. py:{kind}:: {first}", *(f"{' ' * len(f'.. py:{kind}:: ')}{other}" for other in others), ""]
    return [*lines, *indented(text.splitlines()), ""]


def indented(lines):
    return [f"   {line}" if line else "" for line in lines]


def setup(app):
    """Connect to a build."""
    app.connect("builder-inited", write_reference)
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "version": "1"}
