"""What replaces an Apply node in a program without its graph: all that ``perform`` may ask of the node.

``perform`` gets a ``DescribedNode``: the op, and inputs and outputs with types, names and, if they are constants, their
values. What is around a node in a graph is not there: its inputs' owners, its readers, the graph itself.
"""


class DescribedVariable:
    """An input or output of a described node.

    Attributes
    ----------
    type : Type
    name : str or None
    title : str
        How the variable prints.
    index : int or None
        Which output of its node it is.
    data : object
        The value; only constants have it.
    """

    owner = where = None

    def __init__(self, type, name=None, title="", index=None, constant=()):
        self.type, self.name, self.title, self.index = type, name, title, index
        if constant:
            self.data = self.value = constant[0]

    def __str__(self):
        return self.title or self.name or f"<{self.type}>"

    __repr__ = __str__

    @property
    def ndim(self):
        """The rank."""
        return self.type.ndim

    @property
    def dtype(self):
        """The dtype."""
        return self.type.dtype

    @property
    def broadcastable(self):
        """Which dimensions always have length 1."""
        return self.type.broadcastable


class DescribedNode:
    """An op and its operands; ``title`` is how the node printed."""

    def __init__(self, op, inputs, outputs, title):
        self.op, self.inputs, self.outputs, self.title = op, inputs, outputs, title

    @property
    def nin(self):
        """How many inputs there are."""
        return len(self.inputs)

    @property
    def nout(self):
        """How many outputs there are."""
        return len(self.outputs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{vars(self).get('op')} asks for {name!r} of its node, but this program was loaded "
                             "without its graph: of a node there are op, inputs and outputs")

    def __str__(self):
        return self.title

    __repr__ = __str__


def described(node):
    """A node, or a description of one, as a description."""
    if isinstance(node, DescribedNode):
        return node
    known = {variable: _described_variable(variable) for variable in [*node.inputs, *node.outputs]}
    return DescribedNode(node.op, [known[variable] for variable in node.inputs],
                         [known[variable] for variable in node.outputs], str(node))


def _described_variable(variable):
    constant = (variable.data,) if variable.owner is None and hasattr(variable, "data") else ()
    return DescribedVariable(variable.type, variable.name, str(variable), getattr(variable, "index", None), constant)
