"""``f.explain()``: what a user reads about a compiled program."""
import re

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.identity.deep_copy import deep_copy_op
from phintys.vm.callables.callable import Callable
from phintys.vm.explaining.rows import SILENT, Listing
from phintys.vm.files.programs import dumps, loads
from phintys.vm.opcodes import OPCODES

x, y, m = T.vector("x"), T.vector("y"), T.matrix("m")


def formulas(text):
    """The lines without columns of numbers, remarks and the first lines."""
    body = text.partition("lines of ")[2].splitlines()[1:]
    lines = [re.sub(r"^ {0,5}\d* +([\d.]+ K?i?B )?", "", line.partition("#")[0]).rstrip() for line in body]
    return [line for line in lines if line and not line.startswith(("x:", "y:", "m:", "bytes", "time"))]


def remarks(text, name):
    """The remarks beside and under the formula of a value, as one text."""
    found, reading = [], False
    for line in text.splitlines():
        if "# " not in line or line.partition("#")[0].strip():
            reading = f" {name}: " in line or f" {name} = " in line
        if reading and "#" in line:
            found.append(line.partition("# ")[2].strip())
    return " ".join(found)


def step_of_regression():
    labels = T.ivector("labels")
    w, b = phintys.shared(np.zeros((3, 2)), "w"), phintys.shared(np.zeros(2), "b")
    cost = -T.log(T.nnet.softmax(T.dot(m, w) + b))[T.arange(labels.shape[0]), labels].mean()
    by_w, by_b = T.grad(cost, [w, b])
    with phintys.change_flags(workers=1):
        return phintys.function([m, labels], cost, updates=[(w, w - 0.1 * by_w), (b, b - 0.1 * by_b)], name="train")


def test_formulas_come_before_their_use_with_names():
    f = phintys.function([x, y], T.tanh(x - y) * (x - y) + 2, name="f")
    assert formulas(f.explain()) == ["t0 = x - y", "sum1: float64[?] = tanh(t0) * t0 + 2", "return sum1"]


def test_several_results_of_one_pass_are_formulas_that_read_each_other():
    e = T.exp(x)
    f = phintys.function([x, y], [e, e / (1 + y)], name="f")
    assert formulas(f.explain()) == ["exp1: float64[?] = exp(x)", "quotient1: float64[?] = exp1 / (1 + y)",
                                     "return exp1, quotient1"]


def test_a_training_step_reads_like_the_users_formulas():
    text = step_of_regression().explain()
    assert text.startswith("train(m, labels): 1 result, updates of w, b; ")
    lines = formulas(text)
    assert "dot1: float64[?,?] = dot(m, w)" in lines
    assert "w': float64[?,?] = w - 0.1 * dot(m.T, d_softmax1)" in lines
    assert "b': float64[?] = b - 0.1 * sum2" in lines
    assert "its new value is w'" in remarks(text, "w")
    assert "in place of w" in remarks(text, "w'") and "checked at" in remarks(text, "w'")


def test_shapes_and_bytes_of_the_last_call_are_shown():
    f = step_of_regression()
    assert "float64[?,?]" in f.explain() and "bytes" not in f.explain()
    f(np.ones((5, 3)), np.zeros(5, "int32"))
    text = f.explain()
    assert "dot1: float64[5,2]" in text and "?" not in text
    assert re.search(r"^ +\d+ +80 B dot1:", text, re.MULTILINE)
    assert "shapes and bytes are those of the last call; profile=True adds times" in text


def test_times_are_shown_where_they_were_measured():
    f = phintys.function([m], T.exp(m).sum(), name="f", profile=phintys.ProfileStats(atexit_print=False))
    assert "time" not in f.explain()
    f(np.ones((50, 50)))
    assert "profile=True" not in f.explain()
    assert re.search(r"^ +0 +[\d.]+ (ns|us|ms) +8 B sum1", f.explain(), re.MULTILINE)


def test_remarks_name_the_users_lines():
    dot = T.dot(m, x)
    cost = (dot ** 2).sum()
    text = phintys.function([m, x], [cost, T.grad(cost, m)], name="f").explain()
    here = test_remarks_name_the_users_lines.__code__.co_firstlineno
    assert f"lines of {__file__}" in text
    assert remarks(text, "dot1").startswith(f"line {here + 1}")
    assert f"gradient of line {here + 1}" in text and f"gradient of line {here + 2}" in text


def test_lines_are_at_most_120_columns_wide():
    long = [phintys.shared(np.ones(3), f"a_parameter_with_a_rather_long_name_{number}") for number in range(9)]
    text = phintys.function([x], sum([T.exp(parameter + x) for parameter in long]), name="f").explain()
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) > 20


def test_views_copies_and_overwriting_are_explained():
    text = phintys.function([m], [m.T, (m * 2)[::-1], m * 2], name="f").explain()
    assert "a view of m" in remarks(text, "m.T")
    assert "m.T is copied: it is m's memory, the caller's" in text
    assert "product1_view is copied while product1 is in the same memory" in text
    assert "not in place of m: it is an input that is not mutable" in remarks(text, "product1")


def test_of_several_results_those_that_are_lent_are_named():
    product = m * 2
    def text(*results):
        return phintys.function([m], [phintys.Out(result, borrow=True) for result in results]).explain()
    assert "# product1_view without a copy: borrowed" in text(product, product[::-1])
    assert "# without a copy: borrowed" in text(product)


def test_of_several_results_the_one_in_place_is_named():
    product = T.dot(m, m)
    text = phintys.function([m, x], [T.exp(product + x), T.tanh(product + x)], name="f").explain()
    (first, rest), = re.findall(r"# .*?(\w+) in place of dot1; .*\n((?: +# .*\n)+)", text)
    assert first in {"exp1", "tanh1"}
    other, = {"exp1", "tanh1"} - {first}
    assert f"# {other} not in place of dot1: another value takes it" in rest


def test_both_branches_of_an_ifelse_are_indented():
    c = T.scalar("c")
    text = phintys.function([c, x], phintys.ifelse.ifelse(c > 1, T.exp(x), T.log(x)), name="f").explain()
    code = [line.partition("#")[0].rstrip()[6:] for line in text.splitlines()]
    start = code.index("if gt1:")
    assert code[start + 1].startswith("    exp1") and code[code.index("else:") + 1].startswith("    log1")
    assert code[-1] == "return value1"


def test_what_several_branches_need_is_shown_where_it_is_first_needed():
    c, d = T.iscalars("c", "d")
    both = T.dot(m, x)
    outputs = [phintys.ifelse.ifelse(c, both + 1, x), phintys.ifelse.ifelse(d, both * 2, x)]
    lines = formulas(phintys.function([c, d, m, x], outputs, name="f").explain())
    first, again = [place for place, text in enumerate(lines) if text == "run block 0"]
    assert lines[first + 1] == "dot1: float64[?] = dot(m, x)" and "dot1" not in lines[again + 1].partition("=")[0]
    assert lines[-1].startswith("return")


def test_the_body_of_a_loop_is_inside_it():
    w = T.matrix("w")
    rows, _ = phintys.scan(lambda row, before: T.tanh(row + T.dot(before, w)), sequences=m, outputs_info=x, name="walk")
    f = phintys.function([m, x, w], rows, name="f")
    lines = formulas(f.explain())
    assert "each step:" in lines
    assert "walk1[t]: float64[?] = tanh(dot1)" in lines and "return walk1[t]" in lines
    assert "dot1: float64[?] = m[t] + dot(w_view, walk1[t-1])" in lines
    f = phintys.function([m, x, w], T.dot(rows, x), name="f")
    inside, around = [line.partition(":")[0] for line in formulas(f.explain()) if "= dot(" in line or "+ dot(" in line]
    assert inside != around


def test_loops_inside_each_other_have_steps_of_different_names():
    def total(row):
        return phintys.scan(lambda a, b: a + b, sequences=row, outputs_info=T.constant(0.0, dtype="float64"))[0][-1]

    lines = formulas(phintys.function([m], phintys.scan(total, sequences=m)[0], name="f").explain())
    assert lines.count("each step:") + lines.count("each step, in registers:") == 2
    assert "scan_fn2[u]: float64 = m[t][u] + scan_fn2[u-1]" in lines


def test_each_kind_of_loop_has_names_for_what_it_carries():
    total, _ = phintys.scan(lambda a, before: (before + a, phintys.scan_module.until(before > 5)), sequences=x,
                            outputs_info=T.constant(0.0, dtype="float64"), name="total")
    text = phintys.function([x], total[-1], name="f").explain()
    assert "in registers" in text and "total1[t]" in text and "stop" in text


def test_python_calls_are_marked():
    class Twice(phintys.Op):
        __props__ = ("factor",)

        def __init__(self, factor):
            self.factor = factor

        def make_node(self, value):
            return phintys.Apply(self, [value], [value.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * self.factor

        def __str__(self):
            return f"Twice{{factor={self.factor}}}"

    text = phintys.function([x], Twice(2)(x), name="f").explain()
    assert "twice1: float64[?] = Twice(x, factor=2)" in text
    assert "by perform, in Python" in remarks(text, "twice1") and "1 Python call," in text


def test_equal_names_are_told_apart():
    a, b = T.vector("x"), T.vector()
    text = phintys.function([x, a, b], x * a + b, name="f").explain()
    assert "sum1: float64[?] = x * x2 + argument" in text


def test_a_swap_and_a_counter():
    n, a, b = [phintys.shared(np.asarray(value), name) for value, name in ((0, "n"), ([1.0], "a"), ([2.0], "b"))]
    lines = formulas(phintys.function([], n, updates=[(a, b), (b, a), (n, n + 1)], name="f").explain())
    assert "n': int64 = n + 1" in lines and "store a = b" in lines and "store b = a" in lines


def test_a_loaded_program_has_formulas_too():
    f = phintys.function([phintys.In(x, mutable=True)], T.tanh(x) * 2, name="f")
    program = loads(dumps(f.program))
    again = Callable(program, program.argument_types, ["x"], [False], [None])
    assert again.explain() == f.explain()


def test_groups_are_said_to_run_side_by_side():
    with phintys.change_flags(workers=2):
        text = phintys.function([m], [m.sum(axis=0), T.exp(m).sum(axis=1)], name="f").explain()
    assert "side by side, if that pays:" in text


def test_an_opcode_that_listings_do_not_know_is_its_name_and_its_cells(monkeypatch):
    monkeypatch.delattr(Listing, "_copy")
    assert "copy x, x_copy" in phintys.function([x], deep_copy_op(x), name="f").explain()
    known = {name for name in vars(Listing) if name.startswith("_")}
    assert {row.name for row in OPCODES if f"_{row.name.lower()}" not in known} == SILENT | {"COPY"}


def test_an_unknown_style_is_refused():
    with pytest.raises(ValueError, match=r"no style 'short' of explain; expected one of 'formulas', 'instructions'"):
        phintys.function([x], x + 1).explain("short")


# ---- formulas of ops -------------------------------------------------------------------------------------------------
i, s, v = T.iscalar("i"), T.scalar("s"), T.ivector("v")

CASES = [
    (lambda: T.dot(m, m) * 3 + m, "3.0 * dot(m, m)"),
    (lambda: m[i:, 0], "m[i:, 0]"),
    (lambda: m[::-1], "m[::-1]"),
    (lambda: m[v], "m[v]"),
    (lambda: T.set_subtensor(m[i], x), "set_subtensor(m[i], x)"),
    (lambda: T.inc_subtensor(m[v], x), "inc_subtensor(m[v], x)"),
    (lambda: m.dimshuffle(1, "x", 0), "m.dimshuffle(1, 'x', 0)"),
    (lambda: x.dimshuffle("x", 0), "x[None, :]"),
    (lambda: m.sum(axis=1), "sum(m, axis=1)"),
    (lambda: (m ** 2).max(axis=0), "max(m ** 2, axis=0)"),
    (lambda: T.prod(x), "prod(x)"),
    (lambda: m.shape, "[m.shape[0], m.shape[1]]"),
    (lambda: m.reshape((-1,)), "m.reshape("),
    (lambda: -x ** 2, "-x ** 2"),
    (lambda: (-x) ** 3.5, "(-x) ** 3.5"),
    (lambda: x - (y - x), "x - (y - x)"),
    (lambda: (x > y) & (x < 1), "(x > y) & (x < 1)"),
    (lambda: T.cast(x, "int32"), "int32(x)"),
    (lambda: abs(x), "abs(x)"),
    (lambda: T.switch(x > 0, x, y), "switch(x > 0, x, y)"),
    (lambda: T.eye(i), "Eye(i, i, 0, dtype='float64')"),
    (lambda: T.outer(x, y) * 2 + m, "outer("),
]


@pytest.mark.parametrize("make, expected", CASES, ids=[expected for _, expected in CASES])
def test_ops_are_written_in_pythons_notation(make, expected):
    f = phintys.function([x, y, m, i, v], make(), on_unused_input="ignore", mode="FAST_COMPILE", name="f")
    fused = phintys.function([x, y, m, i, v], make(), on_unused_input="ignore", name="f")
    lines = " ".join(formulas(f.explain()) + formulas(fused.explain()))
    for number, part in re.findall(r"(\w+): int64 = (m\.shape\[\d\])", lines):
        lines = lines.replace(f"[{number}", f"[{part}").replace(f", {number}]", f", {part}]")
    assert expected in lines
