"""``debugprint``, ``pp`` and ``min_informative_str``: their look, and that deep graphs print."""
import io

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import In, function, pp, shared
from phintys.printing import (
    INDENT_LIMIT,
    FunctionPrinter,
    OperatorPrinter,
    PatternPrinter,
    debugprint,
    hex_digest,
    letters,
    min_informative_str,
    var_descriptor,
)

x, y, v, m = T.dscalar("x"), T.dscalar("y"), T.dvector("v"), T.dmatrix("m")


# (expression, formula)
FORMULAE = [
    (x + y, "(x + y)"),
    (x + y * 2, "(x + (y * TensorConstant{2}))"),
    (-x / y, "((-x) / y)"),
    (x ** 2 - y, "((x ** TensorConstant{2}) - y)"),
    (x // y, "(x // y)"),
    (T.exp(x), "exp(x)"),
    (abs(x), "|x|"),
    (T.fill(v, x), "fill(v, x)"),
    (v + x, "(v + x)"),
    (m.T, "m.T"),
    (T.dscalar("alpha") + 1, "(\\alpha + TensorConstant{1})"),
    (shared(1.0, "s") * x, "(s * x)"),
    (T.dot(m, v), "(m \\dot v)"),
    (m.sum(), "sum(m)"),
    (m.max(axis=0), "max(m, axis=(0,))"),
    (m[1:, 0], "m[Constant{1}:, Constant{0}]"),
    (v[T.lscalar("n")::-1], "v[n::Constant{-1}]"),
    (T.alloc(x, 3), "alloc(x, TensorConstant{3})"),
    (T.switch(T.lt(x, y), x, y), "switch(lt(x, y), x, y)"),
    (T.grad(x ** 2, x), "((fill((x ** TensorConstant{2}), TensorConstant{1.0}) * x) * TensorConstant{2.0})"),
    (T.dscalar() + x, "(<TensorType(float64, scalar)> + x)"),
]


@pytest.mark.parametrize("expression, formula", FORMULAE, ids=[formula for _, formula in FORMULAE])
def test_pp(expression, formula):
    assert pp(expression) == formula


def test_pp_of_more_operands():
    assert pp(T.add(x, y, x)) == "(x + y + x)"


def test_assigned_printers():
    printer = phintys.pprint.clone()
    printer.assign(T.exp, FunctionPrinter("e"))
    printer.assign(T.sin, PatternPrinter("<%(0)s>"))
    printer.assign(T.maximum, OperatorPrinter("v", 0))
    printer.assign(lambda state, variable: variable.name == "y", type("Y", (), {"process": lambda self, r, s: "WHY"})())
    assert printer(T.maximum(T.exp(x), T.sin(y))) == "(e(x) v <WHY>)"
    assert pp(T.exp(x)) == "exp(x)"


def test_debugprint_of_a_graph():
    shared_part = T.exp(x)
    text = debugprint(shared_part + shared_part * y, file="str")
    assert [line.rstrip() for line in text.splitlines()] == [
        "Elemwise{add,no_inplace} [id A] ''",
        " |Elemwise{exp,no_inplace} [id B] ''",
        " | |x [id C]",
        " |Elemwise{mul,no_inplace} [id D] ''",
        "   |Elemwise{exp,no_inplace} [id B] ''",
        "   |y [id E]",
    ]


# (keywords, text that must be in the output, text that must not)
OPTIONS = [
    (dict(print_type=True), "<TensorType(float64, scalar)>", None),
    (dict(ids="int"), "[id 0]", "[id A]"),
    (dict(ids=""), "exp", "[id"),
    (dict(ids="id"), "[id ", "[id A]"),
    (dict(depth=1), "add", "exp"),
    (dict(stop_on_name=True), "'inner'", "x [id"),
    (dict(), "'inner'", None),
]


@pytest.mark.parametrize("keywords, present, absent", OPTIONS, ids=[str(row[0]) for row in OPTIONS])
def test_debugprint_options(keywords, present, absent):
    inner = T.exp(x)
    inner.name = "inner"
    text = debugprint(inner + y, file="str", **keywords)
    assert present in text and (absent is None or absent not in text)


def test_debugprint_takes_many_kinds_of_things():
    z = T.exp(x) + y
    f = function([x, y], [z, z * 2])
    out = io.StringIO()
    assert debugprint([z, z.owner, f, f.maker.fgraph, In(x), 3, numpy.zeros(2)], file=out) is out
    assert out.getvalue().count("\n") >= 10
    with pytest.raises(TypeError, match="cannot print"):
        debugprint("text")
    with pytest.raises(TypeError, match="depth"):
        debugprint(z, depth="all")
    with pytest.raises(ValueError, match="ids"):
        debugprint(z, ids="roman")


def test_debugprint_prints_to_standard_output(capsys):
    debugprint(x)
    assert capsys.readouterr().out == "x [id A]\n"


def test_debugprint_of_a_function_numbers_the_nodes():
    f = function([m, v], T.dot(m, T.dot(m, v)), mode="FAST_RUN")
    text = debugprint(f, file="str")
    for position in range(len(f.maker.fgraph.toposort())):
        assert any(line.split("[")[-1].rstrip().endswith(str(position)) for line in text.splitlines())


def test_debugprint_clients_and_storage():
    s = shared(2.5, "s")
    part = T.dot(m, v)
    f = function([m, v], [part, T.dot(m, part) * s])
    assert "clients:" in debugprint(f, file="str", print_clients=True)
    text = debugprint(f, file="str", print_storage=True)
    assert any("s [" in line and line.endswith(" [2.5]") for line in text.splitlines())
    assert any("m [" in line and line.endswith(" [None]") for line in text.splitlines())


def test_clients_are_named_by_label_and_position():
    f = function([x, y], [x + y, x + y - x], mode="FAST_COMPILE")
    first, *_, again, _ = debugprint(f, file="str", print_clients=True).splitlines()
    assert first == "Elemwise{add,no_inplace} [id A] ''   0 clients:[('output', ''), ('[id C]', 1)]"
    assert again == " |" + first


def test_several_calls_share_labels():
    done = {}
    debugprint(x, file="str", done=done)
    assert debugprint(y, file="str", done=done).startswith("y [id B]")


@pytest.mark.parametrize("number, text", [(0, "A"), (25, "Z"), (26, "BA"), (27, "BB"), (701, "BAZ"), (26 * 26, "BAA")])
def test_letters(number, text):
    assert letters(number) == text


def test_min_informative_str():
    part = T.exp(x)
    text = min_informative_str(part + part * y)
    assert text == ("A. Elemwise{add,no_inplace}\n B. Elemwise{exp,no_inplace}\n  C. x\n D. Elemwise{mul,no_inplace}\n"
                    "  <B>\n  E. y")


# ---- deep and wide graphs --------------------------------------------------------------------------------------------
def chain(length):
    z = x
    for _ in range(length):
        z = -z
    return z


def test_deep_graphs_print():
    length = 100_000
    z = chain(length)
    assert pp(z) == "(-" * length + "x" + ")" * length
    text = debugprint(z, file="str")
    assert text.count("\n") == length + 1
    assert max(map(len, text.splitlines()[INDENT_LIMIT + 1:])) < 2 * INDENT_LIMIT
    assert min_informative_str(z).count("\n") == length


def test_pp_of_a_graph_whose_formula_is_endless():
    z = x
    for _ in range(200):
        z = z + z
    assert pp(z).endswith(" ...")


# ---- descriptions ----------------------------------------------------------------------------------------------------
def test_descriptors_depend_on_the_graph_only():
    def graph(number):
        a = T.dscalar("a")
        return (a + T.dscalar("b")) * T.exp(a) - number

    text = var_descriptor(graph(1))
    assert text == var_descriptor(graph(1)) != var_descriptor(graph(2)) and "\n" not in text
    assert text.startswith("A=Elemwise{sub,no_inplace}(B=Elemwise{mul,no_inplace}(C=Elemwise{add,no_inplace}(D=a,E=b),"
                           "F=Elemwise{exp,no_inplace}(<D>)),G=")
    deep = x
    for _ in range(5000):
        deep = deep + 1
    assert var_descriptor(deep).count("Elemwise{add,no_inplace}(") == 5000


def test_descriptors_of_arrays():
    array = numpy.arange(6).reshape(2, 3)
    assert var_descriptor(array) == f"A=<ndarray:digest={hex_digest(array)}>"
    others = [hex_digest(other) for other in (array, array.T, array.copy() + 1, array.reshape(3, 2))]
    assert len(set(others)) == 4 and others[0] == hex_digest(array.copy())
    assert others[0].endswith("|strides=[24,8]|shape=[2,3]")


def test_debugprint_shows_bodies_of_loops_below_the_graph():
    k, a = T.iscalar("k"), T.dvector("a")
    powers, _ = phintys.scan(lambda before, a: before * a, outputs_info=a, non_sequences=a, n_steps=k, name="powers")
    lines = [line.rstrip() for line in phintys.printing.debugprint(powers[-1], file="str").splitlines()]
    assert lines[2] == "   |for{cpu,powers} [id C] ''"
    assert lines[lines.index("Inner graphs of the scan ops:"):] == [
        "Inner graphs of the scan ops:", "", "for{cpu,powers} [id C] ''", " >Elemwise{mul,no_inplace} [id J] ''",
        " > |a[t-1] [id K] -> [id G]", " > |a [id L] -> [id I]"]


def test_debugprint_shows_loops_in_bodies():
    rows, _ = phintys.scan(lambda row: phintys.scan(lambda value: value + row[0], row)[0], T.dmatrix())
    text = phintys.printing.debugprint(rows, file="str")
    assert text.count("for{cpu,scan_fn}") == 4 and text.count("Inner graphs") == 1
