"""Sums over labelled dimensions: ``einsum("ij,jk->ik", a, b)``.

The operands are combined two at a time, from the left or in an order that NumPy plans for their shapes. A label is
summed over as soon as neither a later operand nor the result has it, so each step is one matrix product (or a batch of
them, over the labels that both operands keep), or an elementwise product. No separate op is needed: gradients, shapes
and rewrites are those of the products.
"""
import numpy

from phintys.graph import hooks
from phintys.ops.elementwise.elementwise_functions import eq
from phintys.ops.identity.assertion import Check
from phintys.ops.linalg.diagonal import diagonal
from phintys.ops.products.products import contracted
from phintys.ops.reduction.reduction import sum as sum_over
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.numpy_arguments import with_numpy_arguments


@with_numpy_arguments
def einsum(subscripts, *operands, optimize=False):
    """The sum of products of the operands' elements over labelled dimensions, like ``numpy.einsum``.

    Parameters
    ----------
    subscripts : str
        The labels of the dimensions of each operand, separated by commas, and optionally "->" and the labels of the
        result. By default the result has the labels that occur once, in alphabetical order. "..." means dimensions that
        are broadcast.
    *operands : tensor-like
    optimize : bool, {"greedy", "optimal"} or list
        The order of the products. False: the operands are multiplied from the left to the right. Otherwise
        ``numpy.einsum_path`` plans the order for the static lengths of dimensions; unknown ones count as 100. A list is
        a path as that function returns it.

    Returns
    -------
    TensorVariable

    Raises
    ------
    ValueError
        If the labels do not match the operands, or a path is wrong; at run time, if the lengths for a label differ.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> T.einsum("ij,kj->ik", x, x).eval({x: [[1, 2], [3, 5]]})
    array([[ 5., 13.],
           [13., 34.]])
    """
    if not isinstance(subscripts, str) and operands:
        return hooks.numpy_protocol().row_applied("einsum", [subscripts, *operands], {"optimize": optimize})
    if not isinstance(subscripts, str):
        raise ValueError(f"einsum takes the labels as one string before the operands, got {subscripts!r}")
    operands = [as_tensor_variable(operand) for operand in operands]
    labels, wanted = _parsed(subscripts, operands)
    terms = _without_broadcast([_without_repeats(operand, names) for operand, names in zip(operands, labels)])
    for positions in _path(optimize, labels, wanted, operands):
        chosen = [terms[position] for position in positions]
        terms = [term for position, term in enumerate(terms) if position not in positions]
        terms.append(_combined(chosen, set(wanted).union(*[names for _, names in terms])))
    (result, names), = terms
    result, names = _summed(result, names, set(wanted))
    if set(wanted) - set(names):
        raise ValueError(f"einsum({subscripts!r}): the result has labels that no operand has")
    return dimshuffle(result, *[names.index(name) for name in wanted]) if names != wanted else result


# ---- the order of products -------------------------------------------------------------------------------------------
UNKNOWN_LENGTH = 100


def _path(optimize, labels, wanted, operands):
    """The positions of the terms that are combined in each step; their product becomes the last term."""
    count = len(operands)
    if count < 3 or optimize is False or optimize is None:
        return [tuple(range(count))]
    if isinstance(optimize, (list, tuple)):
        path = [tuple(positions) for positions in optimize if not isinstance(positions, str)]
    else:
        path = numpy.einsum_path(*_for_numpy(labels, wanted, operands), optimize=optimize)[0][1:]
    left = count
    for positions in path:
        if not positions or len({*positions}) != len(positions) or not all([0 <= each < left for each in positions]):
            raise ValueError(f"einsum: the path {optimize!r} has a step {positions} for {left} terms")
        left += 1 - len(positions)
    return [*path, tuple(range(left))] if left > 1 else path


def _for_numpy(labels, wanted, operands):
    """Arrays without memory of the operands' lengths, and their labels as numbers."""
    numbers, lengths = {}, {}
    for names, operand in zip(labels, operands):
        for name, length in zip(names, operand.type.shape):
            numbers.setdefault(name, len(numbers))
            if length not in (None, 1):
                lengths[name] = length
    arguments = []
    for names, operand in zip(labels, operands):
        shape = [1 if length == 1 else lengths.get(name, UNKNOWN_LENGTH)
                 for name, length in zip(names, operand.type.shape)]
        arguments += [numpy.broadcast_to(numpy.float64(0), shape), [numbers[name] for name in names]]
    return [*arguments, [numbers[name] for name in wanted if name in numbers]]


def _combined(terms, needed):
    """The product of terms from the left to the right, summed over the labels that are not needed elsewhere."""
    result, names = terms[0]
    for position, (operand, others) in enumerate(terms[1:], 2):
        kept = needed.union(*[later for _, later in terms[position:]])
        result, names = _product(result, names, operand, others, kept)
    return result, names


# ---- labels ----------------------------------------------------------------------------------------------------------
def _parsed(subscripts, operands):
    """The labels of each operand, and those of the result, as lists; the dimensions of "..." are negative numbers."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise ValueError(f"einsum({subscripts!r}): labels for {len(parts)} operands, but there are {len(operands)}")
    labels = [_of_operand(subscripts, part, operand.type.ndim) for part, operand in zip(parts, operands)]
    dots = sorted({label for names in labels for label in names if isinstance(label, int)})
    if arrow and dots and "..." not in right:
        raise ValueError(f"einsum({subscripts!r}): the result has no '...' for the dimensions that are broadcast; sums "
                         "over them need labels")
    if arrow:
        return labels, _spelled_out(subscripts, right, dots)
    letters = [label for names in labels for label in names if isinstance(label, str)]
    return labels, dots + sorted(label for label in set(letters) if letters.count(label) == 1)


def _of_operand(subscripts, part, rank):
    n_dots = rank - len(part.replace("...", "", 1)) if "..." in part else 0
    names = _spelled_out(subscripts, part, list(range(-n_dots, 0))) if n_dots >= 0 else []
    if len(names) != rank:
        raise ValueError(f"einsum({subscripts!r}): the labels {part!r} are for an operand of another rank than {rank}")
    return names


def _spelled_out(subscripts, part, dots):
    before, ellipsis, after = part.partition("...")
    if not (before + after).isalpha() and before + after:
        raise ValueError(f"einsum({subscripts!r}): labels are letters, got {part!r}")
    return [*before, *(dots if ellipsis else []), *after]


# ---- terms -----------------------------------------------------------------------------------------------------------
def _without_repeats(operand, names):
    """An operand without repeated labels, whose diagonals have been taken."""
    names = list(names)
    for name in list(dict.fromkeys(names)):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            known, lengths = operand.type.shape, [shape_i(operand, axis) for axis in (first, second)]
            if known[first] is None or known[first] != known[second]:
                operand = Check(f"einsum: the dimensions of the repeated label {name} have different lengths")(
                    operand, eq(*lengths))
            operand = diagonal(operand, 0, first, second)
            names = [*names[:first], *names[first + 1:second], *names[second + 1:], name]
    return operand, names


def _without_broadcast(terms):
    """The terms without broadcast dimensions: those of length 1 where another term has another length."""
    long = {name for operand, names in terms for name, is_one in zip(names, operand.type.broadcastable) if not is_one}
    return [_kept(operand, names, [axis for axis, name in enumerate(names)
                                   if not (operand.type.broadcastable[axis] and name in long)])
            for operand, names in terms]


def _kept(operand, names, axes):
    return dimshuffle(operand, *axes) if len(axes) < len(names) else operand, [names[axis] for axis in axes]


def _summed(operand, names, needed):
    """A term summed over the labels that are not needed any more."""
    axes = [axis for axis, name in enumerate(names) if name not in needed]
    return (sum_over(operand, axis=axes) if axes else operand), [name for name in names if name in needed]


def _product(left, names, right, others, needed):
    """The product of two terms, summed over the labels that no other term and not the result has."""
    left, names = _summed(left, names, needed.union(others))
    right, others = _summed(right, others, needed.union(names))
    both = [name for name in names if name in others]
    batch = [name for name in both if name in needed]
    inner = [name for name in both if name not in needed]
    own, theirs = [[name for name in part if name not in both] for part in (names, others)]
    if not inner:
        return (_placed(left, names, batch + own + [None] * len(theirs))
                * _placed(right, others, batch + [None] * len(own) + theirs)), batch + own + theirs
    left, right = _placed(left, names, batch + own + inner), _placed(right, others, batch + inner + theirs)
    axes = [list(range(start, start + len(inner))) for start in (len(batch) + len(own), len(batch))]
    return contracted(left, right, list(range(len(batch))), *axes), batch + own + theirs


def _placed(operand, names, order):
    """An operand with its dimensions in another order; None adds a new dimension."""
    return dimshuffle(operand, *["x" if name is None else names.index(name) for name in order])
