"""Traversals of graphs: ancestors, copies, comparison. Topological order is in ``toposort.pyx``.

Every traversal is iterative and linear in the number of edges. Orders depend only on the graph, never on addresses, and
are those of Theano: the last of several start points comes first, and the first of a node's inputs. ``blockers`` are
variables at which a traversal stops: the nodes that compute them are ignored.
"""
from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from phintys.graph.toposort import ancestors_of, io_toposort
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.graph.apply import Apply


# ---- what a graph holds ----------------------------------------------------------------------------------------------
def stack_search(start: Any, expand: Callable[..., Any], mode: str = "bfs", build_inv: bool = False) -> list[Variable]:
    """Find everything that can be reached from ``start``, each object once.

    Parameters
    ----------
    start : collections.deque
        Hashable objects; it is empty afterwards.
    expand : callable
        Maps an object to an iterable of its neighbours, or None.
    mode : {"bfs", "dfs"}
        Breadth first, from the first of ``start`` on; or depth first, from the last one on.
    build_inv : bool
        Also return which objects led to each object.

    Returns
    -------
    list, or tuple (list, dict)
        In the order of the traversal; the dict maps each object to the objects whose expansion contained it.

    Raises
    ------
    ValueError
        If ``mode`` has another value.

    Examples
    --------
    >>> below = {"roof": ["wall"], "wall": ["floor"], "floor": []}
    >>> from collections import deque
    >>> phintys.gof.graph.stack_search(deque(["roof"]), below.get)
    ['roof', 'wall', 'floor']
    """
    if mode not in ("bfs", "dfs"):
        raise ValueError(f"mode should be bfs or dfs, got {mode!r}")
    take = start.popleft if mode == "bfs" else start.pop
    found, inverse = {}, {}                         # a dict is a set with an order
    while start:
        thing = take()
        if thing in found:
            continue
        found[thing] = None
        following = list(expand(thing) or ())
        if build_inv:
            for other in following:
                inverse.setdefault(other, []).append(thing)
        start.extend(following)
    return (list(found), inverse) if build_inv else list(found)


def ancestors(variables: Sequence[Variable], blockers: Sequence[Variable] | set[Variable] = ()) -> list[Variable]:
    """Return the variables that contribute to ``variables``, including these, depth first.

    Parameters
    ----------
    variables : iterable of Variable
    blockers : collection of Variable, optional

    Returns
    -------
    list of Variable
        Starting at the last of ``variables``, and leftmost first among the inputs of each node, as in Theano.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> [str(variable) for variable in phintys.gof.graph.ancestors([T.exp(x)])]
    ['Elemwise{exp,no_inplace}.0', 'x']
    """
    return ancestors_of(variables, set(blockers or ()))


def _walk(variables, blocked, neighbours):
    """Yield all variables reached from ``variables``, the last one first, depth first: each computed one that is not
    blocked is followed by its ``neighbours(owner)``."""
    def expand(variable):
        return reversed(neighbours(variable.owner)) if variable.owner is not None and variable not in blocked else ()
    return stack_search(deque(variables), expand, "dfs")


def graph_inputs(variables: Sequence[Variable], blockers: Sequence[Variable] = ()) -> list[Variable]:
    """Return the leaves (including constants) that ``variables`` depend on, in the order of ``ancestors``.

    Examples
    --------
    >>> x, y = T.dvectors("xy")
    >>> list(phintys.gof.graph.inputs([x + T.exp(y)]))
    [x, y]
    """
    return [variable for variable in ancestors(variables, blockers) if variable.owner is None]


def variables_and_orphans(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[list[Variable], ...]:
    """Return all variables between ``inputs`` and ``outputs``, including both, and the leaves that are not inputs.

    Unused outputs of needed nodes are included.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> found, orphans = phintys.gof.graph.variables_and_orphans([x], [x + T.constant([1.0, 2.0])])
    >>> len(found), orphans
    (3, [TensorConstant{[1. 2.]}])
    """
    blocked = set(inputs)
    found = _walk(outputs, blocked, lambda node: node.inputs + node.outputs)
    return found, [variable for variable in found if variable.owner is None and variable not in blocked]


def variables(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> list[Variable]:
    """Return all variables between ``inputs`` and ``outputs``; see ``variables_and_orphans``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> len(phintys.gof.graph.variables([x], [T.exp(x)]))
    2
    """
    return variables_and_orphans(inputs, outputs)[0]


def orphans(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> list[Variable]:
    """Return the leaves below ``outputs`` that are not ``inputs``; see ``variables_and_orphans``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.gof.graph.orphans([x], [x + T.constant([1.0, 2.0])])
    [TensorConstant{[1. 2.]}]
    """
    return variables_and_orphans(inputs, outputs)[1]


def ops(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> set[Apply]:
    """Return the set of Apply nodes between ``inputs`` and ``outputs``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> len(phintys.gof.graph.ops([x], [T.exp(x) + 1]))
    2
    """
    return set(io_toposort(inputs, outputs))


def list_of_nodes(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> list[Apply]:
    """Return the Apply nodes between ``inputs`` and ``outputs``, breadth first, starting at the first output.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> len(phintys.gof.graph.list_of_nodes([x], [T.exp(x) + 1]))
    2
    """
    ends = {variable.owner for variable in inputs}
    return stack_search(deque([variable.owner for variable in outputs if variable.owner is not None]), lambda node: [
        variable.owner for variable in node.inputs if variable.owner is not None and variable.owner not in ends])


def is_in_ancestors(node: Apply, sought: Apply) -> bool:
    """Return whether the node ``sought`` is ``node`` or contributes to it.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> inner = T.exp(x)
    >>> phintys.gof.graph.is_in_ancestors((inner + 1).owner, inner.owner)
    True
    """
    seen, pending = set(), [node]
    while pending:
        current = pending.pop()
        if current is sought:
            return True
        if current not in seen:
            seen.add(current)
            pending.extend([variable.owner for variable in current.inputs if variable.owner is not None])
    return False


# ---- copies ----------------------------------------------------------------------------------------------------------
def clone(inputs: Sequence[Variable], outputs: Sequence[Variable], copy_inputs: bool = True,
          copy_orphans: bool | None = None) -> tuple[list[Variable], ...]:
    """Copy the graph between ``inputs`` and ``outputs``.

    Parameters
    ----------
    inputs, outputs : list of Variable
    copy_inputs : bool
        Whether the copy has its own inputs.
    copy_orphans : bool, optional
        Whether it has its own constants; by default as ``copy_inputs``.

    Returns
    -------
    tuple (list of Variable, list of Variable)
        Inputs and outputs of the copy.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> inputs, outputs = phintys.gof.graph.clone([x], [T.exp(x)])
    >>> outputs[0].owner.inputs[0] is inputs[0], inputs[0] is x
    (True, False)
    """
    equiv = clone_get_equiv(inputs, outputs, copy_inputs, copy_inputs if copy_orphans is None else copy_orphans)
    return [equiv[variable] for variable in inputs], [equiv[variable] for variable in outputs]


def clone_get_equiv(inputs: Sequence[Variable], outputs: Sequence[Variable], copy_inputs: bool = True,
                    copy_orphans: bool = True,
                    memo: Mapping[Variable, Variable] | None = None) -> dict[Variable, Variable]:
    """Copy the graph between ``inputs`` and ``outputs``, and return a map to the copies.

    Parameters
    ----------
    memo : dict, optional
        Copies made earlier; it is extended.

    Returns
    -------
    dict
        Variable → its copy, and Apply node → its copy.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> y = T.exp(x)
    >>> copies = phintys.gof.graph.clone_get_equiv([x], [y])
    >>> copies[y].owner.inputs[0] is copies[x]
    True
    """
    equiv = {} if memo is None else memo
    for variable in inputs:
        if variable not in equiv:
            equiv[variable] = _detached(variable) if copy_inputs else variable
    for node in io_toposort(inputs, outputs):
        if node not in equiv:
            _copy_node(node, equiv, copy_orphans)
    for variable in outputs:
        if variable not in equiv:
            equiv[variable] = variable.clone() if copy_orphans else variable
    return equiv


def _detached(variable):
    """Return a copy of an input, without the owner that the input may have."""
    copied = variable.clone()
    copied.owner = copied.index = None
    return copied


def _copy_node(node, equiv, copy_orphans, strict=True):
    for variable in node.inputs:
        if variable not in equiv:
            equiv[variable] = variable.clone() if copy_orphans else variable
    copied = equiv[node] = node.clone_with_new_inputs([equiv[variable] for variable in node.inputs], strict)
    for old, new in zip(node.outputs, copied.outputs):
        equiv.setdefault(old, new)


def clone_replace(output: Variable | Mapping[str, Variable] | Sequence[Variable],
                  replace: int | Sequence[Any] | Mapping[Any, Any] | None = None, strict: bool = True,
                  share_inputs: bool = True) -> Variable | dict[str, Variable] | list[Variable]:
    """Copy a graph with some of its variables replaced, as Theano's ``clone``.

    Parameters
    ----------
    output : Variable, or list or tuple of Variable, or dict with such values
    replace : dict or list of pairs, optional
        Variable → its replacement. The replacements are not searched for replaced variables.
    strict : bool
        Whether a replacement must have, or be convertible to, the type of the variable that it replaces.
    share_inputs : bool
        Whether the copy has the leaves of the original and of the replacements, or clones of them.

    Returns
    -------
    Variable, or list or dict of Variable
        As ``output``; a list for a tuple, as in Theano.

    Raises
    ------
    TypeError
        If a type is wrong and ``strict``.
    ValueError
        If ``replace`` is anything else.

    Examples
    --------
    >>> x, y = T.dvectors("xy")
    >>> phintys.pp(phintys.clone(T.exp(x) + x, replace={x: y * 2}))
    '(exp((y * TensorConstant{2})) + (y * TensorConstant{2}))'
    """
    if replace is not None and not isinstance(replace, (dict, list, tuple)):
        raise ValueError(f"replace is neither a dictionary, list, tuple or None! The value provided is {replace}, of "
                         f"type {type(replace)}")
    keys = list(output) if isinstance(output, dict) else None
    wanted = [output[key] for key in keys] if keys is not None else \
        list(output) if isinstance(output, (list, tuple)) else [output]
    for variable in wanted:
        if not isinstance(variable, Variable):
            raise TypeError(f"clone copies variables, got {variable!r}")
    replaced = {}
    for old, new in dict(replace or {}).items():
        if not isinstance(old, Variable):
            raise TypeError(f"given keys must be Variable, got {old!r}")
        replaced[old] = old.type.filter_variable(new) if strict or not isinstance(new, Variable) else new
    equiv = dict(replaced) if share_inputs else _with_own_leaves(replaced)
    for node in io_toposort(list(replaced), wanted):
        _copy_node(node, equiv, not share_inputs, strict)
    for variable in wanted:
        if variable not in equiv:
            equiv[variable] = variable if share_inputs else variable.clone()
    copies = [equiv[variable] for variable in wanted]
    if keys is not None:
        return dict(zip(keys, copies))
    return copies if isinstance(output, (list, tuple)) else copies[0]


def _with_own_leaves(replaced):
    """Copy the replacements with new leaves, and map these leaves to the same copies."""
    copies = clone_get_equiv([], list(replaced.values()))
    leaves = {thing: copied for thing, copied in copies.items() if isinstance(thing, Variable) and thing.owner is None}
    return leaves | {old: copies[new] for old, new in replaced.items()}


# ---- comparison ------------------------------------------------------------------------------------------------------
def equal_computations(xs: Sequence[Variable], ys: Sequence[Variable], in_xs: Sequence[Variable] | None = None,
                       in_ys: Sequence[Variable] | None = None) -> bool:
    """Return whether two lists of variables are computed by the same graph.

    Parameters
    ----------
    xs, ys : list of Variable
        Compared pair by pair.
    in_xs, in_ys : list of Variable, optional
        Variables that count as equal, pair by pair, if their types are equal.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If the lists have different lengths.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.gof.graph.equal_computations([T.exp(x) + 1], [T.exp(x) + 1])
    True
    """
    in_xs, in_ys = in_xs or [], in_ys or []
    if len(xs) != len(ys) or len(in_xs) != len(in_ys):
        raise ValueError("The number of graphs, or of inputs, in each argument must match.")
    equal = {(x, y) for x, y in zip(in_xs, in_ys) if x.type == y.type}
    if len(equal) < len(set(zip(in_xs, in_ys))):
        return False
    bound = set(in_xs) | set(in_ys)
    pending = list(zip(xs, ys))
    while pending:
        pair = x, y = pending.pop()
        if pair in equal:
            continue
        equal.add(pair)                             # assumed, until the traversal finds a difference
        if x is y and x not in bound and not in_xs:
            continue
        if x in bound or y in bound or not _equal_here(x, y):
            return False
        if x.owner is not None:
            pending.extend(zip(x.owner.inputs, y.owner.inputs))
    return True


def _equal_here(x, y):
    """Return whether two variables are equal if the inputs of their owners are."""
    if x.owner is None or y.owner is None:
        return x is y or (isinstance(x, Constant) and isinstance(y, Constant) and x.equals(y))
    return (x.index == y.index and x.type == y.type and x.owner.op == y.owner.op
            and len(x.owner.inputs) == len(y.owner.inputs))


def is_same_graph(first: Variable, second: Variable, givens: Mapping[Variable, Variable] | None = None,
                  debug: bool = False) -> bool:
    """Return whether two variables are computed in the same way from the same inputs.

    Parameters
    ----------
    first, second : Variable
    givens : dict or list of pairs, optional
        Variable → its replacement, in both graphs, before they are compared.
    debug : bool
        Compare a second time, with exchanged arguments.

    Returns
    -------
    bool
        Equal computations count as the same (so it does not matter whether ``x`` in ``x + x`` was written once or
        twice); algebra is not considered.

    Raises
    ------
    AssertionError
        If ``debug`` and the two comparisons disagree.

    Examples
    --------
    >>> x, y = T.dvectors("xy")
    >>> phintys.gof.graph.is_same_graph(T.exp(x), T.exp(y)), phintys.gof.graph.is_same_graph(T.exp(x), T.exp(y), {x: y})
    (False, True)
    """
    if givens:
        first, second = clone_replace([first, second], dict(givens), strict=False)
    same = equal_computations([first], [second])
    if debug and equal_computations([second], [first]) != same:
        raise AssertionError(f"whether {first} and {second} are the same graph depends on their order")
    return same


# ---- connections and views -------------------------------------------------------------------------------------------
def io_connection_pattern(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> list[list[bool]]:
    """Return for each input a list that says for each output whether it depends on the input's elements.

    Parameters
    ----------
    inputs, outputs : list of Variable

    Returns
    -------
    list of list of bool

    Examples
    --------
    >>> x, y = T.dvectors("xy")
    >>> phintys.gof.graph.io_connection_pattern([x, y], [T.exp(x)])
    [[True], [False]]
    """
    sources = {variable: {position} for position, variable in enumerate(inputs)}
    for node in io_toposort(inputs, outputs):
        pattern = node.op.connection_pattern(node)
        for position, output in enumerate(node.outputs):
            reached = [sources[variable] for variable, row in zip(node.inputs, pattern)
                       if row[position] and variable in sources]
            sources.setdefault(output, set().union(*reached))
    return [[position in sources.get(output, ()) for output in outputs] for position in range(len(inputs))]


def view_roots(variable: Variable) -> list[Variable]:
    """Return the variables whose memory ``variable`` shares through views; itself if it is not a view.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.gof.view_roots(x[1:])
    [x]
    """
    roots, pending = [], [variable]
    while pending:
        current = pending.pop()
        owner = current.owner
        positions = owner.op.view_map.get(current.index) if owner is not None else None
        if positions:
            pending.extend([owner.inputs[position] for position in reversed(positions)])
        else:
            roots.append(current)
    return roots


def view_roots_of(nodes: Sequence[Apply],
                  follow_choices: bool) -> tuple[dict[Any, Any] | dict[Variable, Variable], ...]:
    """Find the variables that views refer to, for nodes in the order in which they run.

    Parameters
    ----------
    nodes : iterable of Apply
    follow_choices : bool
        A view of one of several variables, chosen during a call, counts as a view of the first of them. Otherwise it is
        its own root.

    Returns
    -------
    tuple of dict and dict
        View → the variable that it is a view of, through any number of views. Variable that is a view of one of several
        → these.
    """
    roots, chosen = {}, {}
    for node in nodes:
        for output, positions in node.op.view_map.items():
            view, source = node.outputs[output], node.inputs[positions[0]]
            if len(positions) > 1:
                chosen[view] = [node.inputs[position] for position in positions]
            if len(positions) == 1 or follow_choices:
                roots[view] = roots.get(source, source)
    return roots, chosen
