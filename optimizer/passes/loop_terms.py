"""Sums in the body of a loop: terms that can be added to a product of rows of sequences before the loop.

In ``dot(h, W) + dot(x_t, U) + b`` only the first term depends on a state. The other terms become a separate sum, so
that ``b`` is added to the product of all rows, in the call of BLAS that computes it. Only vectors, and terms that are
the same in all rows of a product, are added there: any other term would need one more pass over all rows.
"""
from phintys.graph.toposort import io_toposort
from phintys.ops.elementwise.scalar import add
from phintys.ops.products.dot import Dot
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.reshape import Reshape, reshape
from phintys.optimizer.engine.forms import key


def gather_terms(loop):
    """Let the body first add, in sums with a product of a sequence, the terms that need no state.

    Parameters
    ----------
    loop : OpenLoop
        Is changed.

    Returns
    -------
    list of Variable
        The inner variables that are such sums.
    """
    nodes = io_toposort(loop.moving(), loop.inner_outputs())
    states = [*[variable for entry in loop.states for variable in entry.reads],
              *[entry.before for entry in loop.carried]]
    trees = _Trees(nodes, set(loop.inner_outputs()))
    tied, changed, gathered = trees.dependents(states), {}, []
    for node in nodes:
        root = node.outputs[0]
        free = trees.free_terms(root, tied) if root in tied else []
        if free:
            own = add(*free)
            terms = [changed.get(term, term) for term in trees.terms(root) if term in tied]
            changed[root] = root.type.filter_variable(add(*terms, own))
            gathered.append(own)
        elif not changed.keys().isdisjoint(node.inputs):
            copy = node.clone_with_new_inputs([changed.get(variable, variable) for variable in node.inputs])
            changed.update(zip(node.outputs, copy.outputs))
    if gathered:
        loop.replace({variable: changed[variable] for variable in loop.inner_outputs() if variable in changed})
    return gathered


class _Trees:
    """The sums in the body of a loop.

    Parameters
    ----------
    nodes : list of Apply
        In order.
    outputs : set of Variable
        What the body computes.
    """

    def __init__(self, nodes, outputs):
        self.nodes, self.outputs = nodes, outputs
        self.readers = {}
        for node in nodes:
            for variable in node.inputs:
                self.readers.setdefault(variable, []).append(node)

    def dependents(self, variables):
        """These variables, and all variables computed from them."""
        found = set(variables)
        for node in self.nodes:
            if not found.isdisjoint(node.inputs):
                found.update(node.outputs)
        return found

    def free_terms(self, root, tied):
        """The terms that can be gathered: two or more, among them a product. Empty if ``root`` is no whole sum."""
        if key(root) != "add" or self._is_part(root):
            return []
        terms = self.terms(root)
        free = [term for term in terms if term not in tied]
        has_product = any(map(_is_product, free))
        same_dtype = {term.type.dtype for term in terms} == {root.type.dtype}
        return free if has_product and same_dtype and 1 < len(free) < len(terms) else []

    def terms(self, root):
        """The terms of a sum, including those of sums that only it reads."""
        found, waiting = [], list(reversed(root.owner.inputs))
        while waiting:
            variable = waiting.pop()
            if key(variable) == "add" and self._is_part(variable):
                waiting.extend(reversed(variable.owner.inputs))
            else:
                found.append(variable)
        return found

    def _is_part(self, variable):
        """Whether the only reader is a sum."""
        readers = self.readers.get(variable, ())
        return len(readers) == 1 and variable not in self.outputs and key(readers[0].outputs[0]) == "add"


def rows_of_sum(total, outside, is_row):
    """A gathered sum for all steps, as a sum of products of matrices and rows that are alike everywhere.

    Parameters
    ----------
    total : Variable
        Inside.
    outside : function
        Returns the rows of an inner variable, or its value in all steps; None if neither is known.
    is_row : function
        Whether an inner variable has rows.

    Returns
    -------
    Variable or None
        None if the sum has other terms.
    """
    products, alike, lengths = [], [], None
    for term in total.owner.inputs:
        found = outside(term)
        if found is None:
            return None
        if not is_row(term):
            alike.append(found)
        elif _is_product(found):
            products.append(found)
        elif found.owner is not None and type(found.owner.op) is Reshape and _is_product(found.owner.inputs[0]):
            products.append(found.owner.inputs[0])
            lengths = found.owner.inputs[1]
        else:
            return None
    alike = [_as_row(variable, total.type.ndim) for variable in alike]
    if None in alike or any([product.type.ndim != 2 for product in products]):
        return None
    value = add(*products, *alike)
    return value if lengths is None else reshape(value, lengths, total.type.ndim + 1)


def _is_product(variable):
    return variable.owner is not None and type(variable.owner.op) is Dot


def _as_row(variable, rank):
    """A value that is the same in each step as a row to be added to a matrix; None if its rows differ."""
    if rank == 1:
        return dimshuffle(variable, ["x", 0])
    return variable if variable.type.broadcastable[0] else None
