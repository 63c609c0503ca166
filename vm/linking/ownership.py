"""Memory ownership: what a program may overwrite, return and move, decided from its graph before any cell exists.

The graph says what is possible (``view_map`` and ``destroy_map``, which were checked when the nodes were marked); the
caller says what is permitted (``mutable`` and ``borrow`` of arguments and results). This file combines both: for each
variable it finds the ``access`` of its cell, and its donor, the variable whose memory it may take. Whether it takes
that memory is decided by reference counts when the program runs; nothing here depends on shapes.
"""
from phintys.graph.traversal import view_roots_of
from phintys.graph.variable import Constant


class Ownership:
    """The decisions for one program.

    Attributes
    ----------
    donors : dict
        Output of a node → the input that it may overwrite.
    access : dict
        Variable → a key of ``program.ACCESS``, unless it is the default.
    copied : set of Variable
        The results that may be in the memory of an argument that the user's own nodes overwrite.
    """

    def __init__(self, fgraph, nodes, *, n_arguments, n_outputs, late=(), updates=(), mutable=(), written=(),
                 borrowed=(), lent=()):
        nodes = [*nodes, *late]
        self._roots, self._chosen = view_roots_of(nodes, follow_choices=False)
        self.donors, self.access = {}, {}
        arguments = {variable: position for position, variable in enumerate(fgraph.inputs[:n_arguments])}
        shared = set(fgraph.inputs[n_arguments:])
        overwritten = self._find_donors(nodes)
        given = {variable for variable in overwritten if arguments.get(variable, -1) in mutable}
        self.access.update(dict.fromkeys(given, "mutable"))
        stored = {fgraph.outputs[position] for position, _ in updates}
        results = set(fgraph.outputs[:n_outputs])
        kept = {variable for position, variable in enumerate(fgraph.outputs[:n_outputs]) if position not in lent}
        by_user = given.intersection([fgraph.inputs[position] for position in written])
        if given:
            self._part(kept, given - by_user)
        self.copied = {variable for variable in kept if by_user and self._may_be_in(variable, by_user)}
        for variable in {fgraph.outputs[position]: None for position in lent}:
            if variable not in kept:
                self._lend(variable, arguments, borrowed, shared - overwritten, stored)
        for node in late:
            for variable in results.intersection(node.inputs):
                self.access[variable] = "late"

    def root_of(self, variable):
        """Return the variable whose memory ``variable`` refers to: itself if it is not a view."""
        return self._roots.get(variable, variable)

    def is_own(self, variable):
        """Return whether the variable has memory of its own on every path."""
        return variable not in self._roots and variable not in self._chosen

    def chosen_from(self, variables):
        """Return what lazy branches choose from some of these variables or views of them, and from what is chosen so.

        Returns
        -------
        set of Variable
        """
        found = set(variables)
        for chosen, sources in self._chosen.items():
            if not found.isdisjoint([self.root_of(source) for source in sources]):
                found.add(chosen)
        return found.difference(variables)

    def _find_donors(self, nodes):
        """Fill ``donors``; return the roots that are overwritten."""
        overwritten = set()
        for node in nodes:
            for output, (position, *_) in node.op.destroy_map.items():
                source = node.inputs[position]
                overwritten.add(self.root_of(source))
                if node.outputs[output].type.layout == source.type.layout is not None:
                    self.donors[node.outputs[output]] = source
        return overwritten

    def _part(self, results, given):
        """Let results that the caller keeps take other memory than that of arguments that may be overwritten: the
        caller has these arrays already, and gives them to other calls. What is computed before may take it."""
        pending, seen = list(map(self.root_of, results)), set()
        while pending:
            variable = pending.pop()
            if variable in seen:
                continue
            seen.add(variable)
            if variable in self._chosen:
                pending.extend(map(self.root_of, self._chosen[variable]))
            elif variable in self.donors and self._may_be_in(self.donors[variable], given):
                del self.donors[variable]

    def _may_be_in(self, variable, given):
        """Whether a variable may be in the memory of one of some arguments."""
        pending, seen = [variable], set()
        while pending:
            root = self.root_of(pending.pop())
            if root in given:
                return True
            if root not in seen:
                seen.add(root)
                pending.extend(self._chosen.get(root, ()))
                if root in self.donors:
                    pending.append(self.donors[root])
        return False

    def _lend(self, variable, arguments, borrowed, shared, stored):
        """Set the access of a result that the caller borrows."""
        root = self.root_of(variable)
        if root in self._chosen:
            return                              # whose memory it is depends on the branch taken
        if root in arguments:
            if arguments[root] in borrowed:
                self.access.setdefault(root, "held")
                self.access[variable] = "shown"
        elif root in shared:
            self.access[variable] = "shown"
        elif not isinstance(root, Constant) and root.owner is not None and root not in stored:
            self.access[variable] = "lent" if root is variable else "shown"
