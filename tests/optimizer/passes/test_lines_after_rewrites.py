"""Errors of compiled programs name the user's line, whatever the optimizer has put together.

Programs are generated with one statement a line and one operand of a wrong length; the error must name its line.
"""
import random
import re

import numpy
import pytest

import phintys
from phintys import tensor as T
from phintys.graph.trace import traces_of
from phintys.ifelse import IfElse, ifelse

LENGTH = 3
STATEMENTS = [                  # of two vectors {x} and {y}; one of these statements gets a {y} that is too long
    "{x} * {y}", "{x} + {y}", "{x} - {y}", "{x} / {y}", "T.maximum({x}, {y})", "T.switch({x} > 0, {y}, {x})",
    "{x} * 2 + {y}", "M.dot({x}) + {y}", "{y} - 0.5 * T.dot(M, {x})", "T.exp({x}) * {y}", "T.log(T.exp({x}) + {y})",
]
ENDS = ["{x}", "{x}.sum()", "({x} ** 2).mean()", "T.nnet.softmax({x})", "{x}.max()", "T.dot(M, {x})"]


def program(generator):
    """(source text, number of the line that is wrong)."""
    count = generator.randint(2, 9)
    wrong = generator.randint(1, count)
    known, lines = ["a", "b", "c"], []
    for number in range(1, count + 1):
        # Each value is read by the next line, so that the wrong one is needed; x - x would be simplified.
        x, y = known[-1], generator.choice(known[:-1])
        lines.append(f"v{number} = " + generator.choice(STATEMENTS).format(x=x, y="bad" if number == wrong else y))
        known.append(f"v{number}")
    lines.append("result = " + generator.choice(ENDS).format(x=known[-1]))
    return "\n".join(lines), wrong


def lines_named(error):
    return {int(line) for line in re.findall(r'File "<program>", line (\d+)', str(error))}


@pytest.mark.parametrize("seed", range(60))
def test_the_line_at_fault_is_named(seed):
    source, wrong = program(random.Random(seed))
    names = dict(zip("abc", T.dvectors(3)), bad=T.dvector(), M=T.dmatrix(), T=T)
    exec(compile(source, "<program>", "exec"), names)
    inputs = [names[name] for name in ("a", "b", "c", "bad", "M")]
    function = phintys.function(inputs, names["result"], on_unused_input="ignore")
    values = [numpy.ones(LENGTH)] * 3 + [numpy.ones(LENGTH + 1), numpy.ones((LENGTH, LENGTH))]
    with pytest.raises(ValueError) as caught:
        function(*values)
    assert wrong in lines_named(caught.value), f"{source}\n{caught.value}"


def test_one_line_is_named_where_the_shapes_tell_which():
    """In Composites, reductions of them, and products with what they are added to."""
    a, b, c = T.dvectors(3)
    M, N = T.dmatrices(2)
    for source, wrong in [("v = a * b\nv = v + c\nresult = v.sum()", 2), ("v = a * c\nv = v ** 2\nresult = v.sum()", 1),
                          ("v = T.exp(a)\nw = v - c\nresult = T.tanh(w) * v", 2),
                          ("v = T.dot(N, M)\nw = 2 * v\nresult = M - w", 1),
                          ("v = T.dot(M, N)\nw = 2 * v\nresult = M - w", 3),
                          ("v = T.dot(M, c)\nw = 2 * v\nresult = a - w", 1),
                          ("v = T.dot(M, a)\nw = 2 * v\nresult = c - w", 3),
                          ("v = a.dimshuffle(0, 'x') * b\nw = 2 * v\nresult = N - w", 3),
                          ("v = T.dot(N, M)\nw = 2 * v\nresult = w", 1)]:
        names = dict(a=a, b=b, c=c, M=M, N=N, T=T)
        exec(compile(source, "<program>", "exec"), names)
        function = phintys.function([a, b, c, M, N], names["result"], on_unused_input="ignore")
        square, wide = numpy.ones((LENGTH, LENGTH)), numpy.ones((LENGTH, LENGTH + 1))
        with pytest.raises(ValueError, match="Made at:") as caught:
            function(numpy.ones(LENGTH), numpy.ones(LENGTH), numpy.ones(LENGTH + 1), square, wide)
        assert lines_named(caught.value) == {wrong}, f"{source}\n{caught.value}"


def test_merged_branches_know_all_their_lines():
    c, a, b = T.iscalar(), T.dvector(), T.dvector()
    source = "v = ifelse(c, a, b)\nw = ifelse(c, b, a)"
    names = dict(c=c, a=a, b=b, ifelse=ifelse)
    exec(compile(source, "<program>", "exec"), names)
    function = phintys.function([c, a, b], [names["v"], names["w"]])
    node, = [node for node in function.maker.fgraph.apply_nodes if isinstance(node.op, IfElse)]
    assert {trace[0][:2] for trace in traces_of(node._position)} == {("<program>", 1), ("<program>", 2)}
