"""What users register beside the tables: rewrites for a family, and whole optimizers at a position.

Positions are Theano's numbers, which its programs know: canonicalize stands at 1, stabilize at 1.5, specialize at 2,
fusion at 49, in-place at 75. What is registered at a position runs before the first stage that stands behind it, and
in any case before values are overwritten. It carries tags, and a query chooses it like any rewrite. Registering makes
all drivers anew.
"""
FAMILIES = ("canonicalize", "stabilize", "specialize", "uncanonicalize")

# Stage of the pipeline → its position.
POSITIONS = {"merge1": 0, "canonicalize": 1, "stabilize": 1.5, "specialize": 2, "uncanonicalize": 3,
             "elemwise_fusion": 49, "protect": float("inf"), "inplace": 75}


class WholeRewrite:
    """A function of a graph at a position.

    Parameters
    ----------
    name : str
    position : number
    tags : iterable of str
    apply : callable
        ``apply(fgraph, query)``.
    """

    __slots__ = ("name", "position", "tags", "apply")

    def __init__(self, name, position, tags, apply):
        self.name, self.position, self.apply = name, position, apply
        self.tags = frozenset(tags) | {name}


rewrites = {family: [] for family in FAMILIES}          # family → rows
whole = []                                              # in the order of their positions
version = 0                                             # changes when something is registered


def register_rewrite(family, rewrite):
    """Let a family have another row."""
    global version
    rewrites[family].append(rewrite)
    version += 1


def register_whole(entry):
    """Let the pipeline have another stage."""
    global version
    whole.append(entry)
    whole.sort(key=lambda registered: registered.position)
    version += 1


def names():
    """The names of all that was registered."""
    return {entry.name for entries in (whole, *rewrites.values()) for entry in entries}


def chosen(query):
    """The whole rewrites that a query wants, by position; those given with the query, as pairs, included."""
    given = [WholeRewrite(str(one), position, (), lambda fgraph, query, one=one: one(fgraph))
             for one, position in [entry for entry in query.extra if isinstance(entry, tuple)]]
    return sorted([*[entry for entry in whole if query.wants(entry.tags)], *given], key=lambda entry: entry.position)
