"""Work grows with the graph and no faster: executed lines are counted, driver steps and what each costs alike."""
import sys

import pytest
from optimized_graphs import FAST_RUN, variable

from phintys.graph.function_graph import FunctionGraph
from phintys.graph.gradients.gradient import grad
from phintys.ops.elementwise.scalar import add, clip, exp, gt, log, sigmoid, switch, tanh
from phintys.ops.graphs.ifelse import ifelse
from phintys.ops.products.products import dot
from phintys.optimizer.pipeline import optimize

x, y, w, s, m = (variable("d1", "x"), variable("d1", "y"), variable("d1", "w"), variable("d0", "s"),
                 variable("d2", "m"))
INPUTS = [x, y, w, s, m]


def chain(step):
    """``step`` applied to its own result, again and again."""
    def make(length):
        value = x
        for number in range(length):
            value = step(value, number)
        return value
    return make


def gradient(make, by=x):
    """The gradient of what ``make`` makes."""
    return lambda length: grad(make(length).sum(), by)


def partial_results(make_step):
    """Every result of a chain, each read by its successor and by the caller."""
    def make(length):
        values = [x]
        for number in range(length):
            values.append(make_step(values[-1], number))
        return values[1:]
    return make


def cross_entropy(value, number):
    p = 1 / (1 + exp(-value))
    return -y * log(p) - (1 - y) * log(1 - p)


def read_by_many(length):
    """A product and a sum of many factors that many others read."""
    product = FAMILIES["product"](length)
    total = FAMILIES["sum"](length)
    return [(product + number * w) * sigmoid(y + number) - total * sigmoid(w * number) for number in range(1, length)]


def chain_of_matrices(length):
    """``s * (s * (... + dot) + dot)``, whose scales are powers of s."""
    value = m
    for number in range(length):
        value = s * (value + dot(m, m + number))
    return value


FAMILIES = {
    "elementwise chain": chain(lambda value, number: tanh(value) + 0.001 * number),
    "dot chain": chain(lambda value, number: tanh(dot(m, value))),
    "hub": chain(lambda value, number: value * w + w),
    "sum": chain(lambda value, number: value + tanh(x + number)),
    "difference": chain(lambda value, number: tanh(x + number) - value),
    "product": chain(lambda value, number: value * tanh(x + number)),
    "quotient": chain(lambda value, number: value / tanh(x + number)),
    "product of sigmoids": chain(lambda value, number: value * sigmoid(x + number)),
    "logistic terms": chain(lambda value, number: value + log(1 / (1 + exp(-(x + number))))),
    "nested logistic functions": chain(lambda value, number: 1 / (1 + exp(-value))),
    "nested cross entropies": chain(cross_entropy),
    "exp and log": chain(lambda value, number: exp(log(value) + 0.5)),
    "switch and clip": chain(lambda value, number: clip(switch(value > number, value, x), -number, number)),
    "scaled products": chain(lambda value, number: s * (dot(m, value) + x)),
    "sum of scaled products": chain(lambda value, number: s * (value + x) + dot(m, x + number)),
    "shapes": chain(lambda value, number: tanh(value) * value.shape[0]),
}
CASES = dict(FAMILIES)
CASES.update({f"gradient of {name}": gradient(make) for name, make in FAMILIES.items()})
CASES.update({
    "gradient by a hub": gradient(FAMILIES["hub"], w),
    "gradient by a matrix": gradient(FAMILIES["dot chain"], m),
    "gradient by the weights of a recurrence": gradient(chain(lambda value, number: tanh(dot(value, m))), m),
    "nested sums of scaled products": lambda length: chain_of_matrices(length),
    "squares of squares": chain(lambda value, number: value * value if number % 2 else value ** 2),
    "logarithms of sums": chain(lambda value, number: log(exp(m + value).sum(axis=1))),
    "many outputs": lambda length: [tanh(x + number) for number in range(length)],
    "partial products": partial_results(lambda value, number: value * tanh(x + number)),
    "partial sums": partial_results(lambda value, number: value + sigmoid(x + number)),
    "products and sums with many readers": read_by_many,
    "branches in each other": chain(lambda value, number: ifelse(gt(s, number), exp(x) * number, tanh(value))),
    "branches one after the other": chain(lambda value, number: tanh(ifelse(gt(s, number), value * 2, value + number))),
    "branches of one condition": lambda length: add(*[ifelse(gt(s, 0), x * number, y + number)
                                                      for number in range(length)]),
    "gradient of branches in each other": gradient(chain(
        lambda value, number: ifelse(gt(s, number), exp(x) * number, tanh(value)))),
    "one sum of many products": lambda length: add(*[dot(m, x + number) for number in range(length)]),
})


def work(make, length):
    """``(nodes, executed lines)`` of optimising a graph."""
    outputs = make(length)
    fgraph = FunctionGraph(INPUTS, outputs if isinstance(outputs, list) else [outputs])
    nodes, lines = len(fgraph.apply_nodes), 0

    def count(frame, event, argument):
        nonlocal lines
        lines += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        optimize(fgraph, FAST_RUN)
    finally:
        sys.settrace(before)
    return nodes, lines


@pytest.mark.parametrize("name", CASES)
def test_lines_grow_linearly(name):
    """Three times the graph: three times the lines, and what it takes if it becomes several kernels, not one: then some
    may work in place."""
    work(CASES[name], 4)                   # what is set up once does not count
    nodes, lines = work(CASES[name], 64)
    more_nodes, more_lines = work(CASES[name], 192)
    assert more_lines / more_nodes < 1.2 * lines / nodes
