"""Types, variables, constants, Apply nodes and ops."""
import inspect
import pickle
from itertools import count

import numpy
import pytest
from toy_graph import (
    Add,
    Cast,
    Elementwise,
    Overwrite,
    ToyConstant,
    ToyType,
    ToyVariable,
    add,
    negate,
    pair,
    scalar,
    vector,
)

from phintys.graph.apply import Apply
from phintys.graph.config import change_flags
from phintys.graph.debug_values import get_debug_values, get_test_value
from phintys.graph.errors import MethodNotDefined
from phintys.graph.op import Op
from phintys.graph.trace import add_tag_trace
from phintys.graph.type import Generic, Type, generic
from phintys.graph.valueless_types import NullType, null_type
from phintys.graph.variable import Constant, Variable


def line():
    """The caller's file and line."""
    frame = inspect.currentframe().f_back
    return frame.f_code.co_filename, frame.f_lineno


# ---- types -----------------------------------------------------------------------------------------------------------
def test_filter_variable():
    x = scalar("x")
    assert scalar.filter_variable(x) is x
    made = scalar.filter_variable(3)
    assert isinstance(made, ToyConstant) and made.data == 3.0 and made.type == scalar
    with pytest.raises(TypeError, match="Cannot convert Type"):
        vector.filter_variable(x)


def test_convert_variable_is_asked():
    class Wide(ToyType):
        def convert_variable(self, variable):
            return Cast("float32")(variable)

    wide = Wide("float32")
    assert wide.filter_variable(scalar("x")).owner.op == Cast("float32")
    with pytest.raises(TypeError):
        wide.filter_variable(scalar("x"), allow_convert=False)


def test_is_valid_value():
    assert scalar.is_valid_value(numpy.float64(1)) and not scalar.is_valid_value(numpy.zeros(3))
    assert generic.is_valid_value(None) and generic == Generic() and generic is Generic()
    with pytest.raises(MethodNotDefined):
        Type().filter(1)


def test_types_are_shared_by_copies():
    import copy
    assert copy.deepcopy(scalar) is scalar and pickle.loads(pickle.dumps(scalar)) == scalar


def test_null_types():
    assert null_type == NullType("because") and hash(null_type) == hash(NullType())
    with pytest.raises(ValueError, match="because"):
        NullType("because").filter(1)


# ---- variables -------------------------------------------------------------------------------------------------------
def test_names():
    assert str(scalar("x")) == "x" and "ToyType" in str(scalar())
    x = scalar("x")
    assert str(add(x, x)) == "Add.0" and [str(output) for output in pair(x, x)] == ["Pair.0", "Pair.1"]
    assert str(ToyConstant(scalar, 2)) == "ToyConstant{2.0}"
    with pytest.raises(TypeError):
        scalar(3)


def test_auto_names_count_up():
    first = next(Variable.__count__)
    Variable.__count__ = count(first)
    assert [scalar().auto_name for _ in range(3)] == [f"auto_{first + step}" for step in range(3)]


def test_equality_is_identity():
    x = scalar("x")
    assert x == x and x != scalar("x") and len({x, x.clone()}) == 2
    with pytest.raises(NotImplementedError):
        Variable(generic) < Variable(generic)


def test_clone_copies_name_tag_and_origin():
    x, here = scalar("x"), line()
    x.tag.test_value = 3.0
    y = add(x, x)
    copied = x.clone()
    assert (copied.type, copied.name, copied.tag.test_value, copied.where) == (scalar, "x", 3.0, here)
    assert copied.tag is not x.tag
    assert y.clone().owner is None and y.clone().where == (here[0], here[1] + 2)


def test_constants():
    a, b = ToyConstant(scalar, 1), Constant(generic, "text")
    assert a.value == a.data == 1.0 and b.equals(Constant(generic, "text")) and not b.equals(Constant(generic, "other"))
    assert not b.equals(Variable(generic)) and b.clone().data is b.data and b.clone() is not b
    with pytest.raises(TypeError):
        Constant(vector, 1.0)


# ---- where -----------------------------------------------------------------------------------------------------------
def test_where_is_the_users_line():
    x, here = scalar("x"), line()
    y = add(x, x)
    assert x.where == here
    assert y.where == y.owner.where == (here[0], here[1] + 1)
    assert scalar.make_variable().where is None
    noted, here = add_tag_trace(scalar.make_variable()), line()
    assert noted.where == here


def test_where_survives_clone_and_pickle():
    y, here = negate(scalar("x")), line()
    assert y.owner.clone().where == here
    assert pickle.loads(pickle.dumps(y)).where == here


def test_where_of_a_user_defined_op_is_where_it_is_applied():
    y, here = Elementwise()(scalar("x")), line()         # make_node is in another file of the user
    assert y.where == here


# ---- Apply -----------------------------------------------------------------------------------------------------------
def test_apply_owns_its_outputs():
    x, y = scalar("x"), scalar("y")
    node = Apply(add, (x, x), [y])
    assert (node.inputs, node.outputs, node.nin, node.nout) == ([x, x], [y], 2, 1)
    assert y.owner is node and y.index == 0 and node.out is y is node.default_output()
    assert str(node) == "Add(x, x)" and node.get_parents() == [x, x] and y.get_parents() == [node]


@pytest.mark.parametrize("inputs, outputs, error", [
    (lambda: scalar(), lambda: [scalar()], TypeError),
    (lambda: [1], lambda: [scalar()], TypeError),
    (lambda: [scalar()], lambda: scalar(), TypeError),
    (lambda: [scalar()], lambda: [2], TypeError),
    (lambda: [scalar()], lambda: [add(scalar(), scalar())], ValueError),
    (lambda: [scalar()], lambda: [ToyConstant(scalar, 1)], ValueError)])
def test_apply_refuses(inputs, outputs, error):
    with pytest.raises(error):
        Apply(add, inputs(), outputs())


def test_default_output():
    class Two(Add):
        def make_node(self, x):
            return Apply(self, [x], [x.type(), x.type()])

    node = Two().make_node(scalar())
    with pytest.raises(AttributeError, match="should be an output index"):
        node.out
    for wrong in (2, -1, "0"):
        Two.default_output = wrong
        with pytest.raises(AttributeError):
            node.out
    Two.default_output = 1
    assert node.out is node.outputs[1] and str(node.out) == "Two.out" and str(node.outputs[0]) == "Two.0"
    assert Two()(scalar()).index == 1 and len(Two()(scalar(), return_list=True)) == 1


def test_clone_with_new_inputs():
    x, y, f = scalar("x"), scalar("y"), ToyType("float32")("f")
    node = negate(x).owner
    node.tag.note = 1
    other = node.clone_with_new_inputs([y])
    assert other.inputs == [y] and other.out is not node.out and other.tag.note == 1 and node.inputs == [x]
    with pytest.raises(TypeError):
        node.clone_with_new_inputs([f])
    assert node.clone_with_new_inputs([f], strict=False).out.type == f.type


def test_clone_with_less_known_shape_is_made_anew():
    known, unknown = ToyType(ndim=1, shape=(3,)), ToyType(ndim=1, shape=(None,))
    node = negate(known()).owner
    assert known == unknown and node.out.type.shape == (3,)
    assert node.clone_with_new_inputs([unknown()]).out.type.shape == (None,)


# ---- ops -------------------------------------------------------------------------------------------------------------
def test_props():
    assert Cast("float32") == Cast("float32") != Cast("float64") and hash(Cast("a")) == hash(Cast("a"))
    assert str(Cast("float32")) == "Cast{dtype='float32'}" and str(add) == "Add" and add == Add() and add != negate
    assert Cast("a")._props() == ("a",) and Cast("a")._props_dict() == {"dtype": "a"}


def test_without_props_equality_is_identity():
    class Plain(Op):
        pass

    assert Plain() != Plain() and len({Plain(), Plain()}) == 2 and str(Plain()) == "Plain"


def test_own_methods_win_over_props():
    class Always(Op):
        __props__ = ("x",)

        def __eq__(self, other):
            return type(self) is type(other)

    assert Always() == Always()
    with pytest.raises(AttributeError):
        hash(Always())                                   # the hash is that of the properties, and x is missing


@pytest.mark.parametrize("props", [["a"], ("a", 1)])
def test_wrong_props(props):
    with pytest.raises(TypeError, match="__props__"):
        type("Wrong", (Op,), {"__props__": props})


def test_hash_is_not_pickled_or_copied():
    import copy
    op = Cast("float32")
    hash(op)
    changed = copy.copy(op)
    changed.dtype = "float64"
    assert hash(changed) == hash(Cast("float64")) and "_kept_hash" not in pickle.loads(pickle.dumps(op)).__dict__


def test_call_returns():
    x = scalar("x")
    assert isinstance(add(x, x), ToyVariable) and add(x, x, return_list=True)[0].owner.op == add
    assert isinstance(pair(x, x), list)


def test_itypes_and_otypes():
    class Typed(Op):
        itypes, otypes = [scalar, scalar], [vector]

    y = Typed()(scalar("x"), 2.0)
    assert y.type == vector and y.owner.inputs[1].data == 2.0
    with pytest.raises(ValueError, match="expected 2 inputs but got 1"):
        Typed()(scalar())
    with pytest.raises(TypeError):
        Typed()(vector(), 1.0)
    with pytest.raises(NotImplementedError):
        Op()(scalar())


def test_defaults_of_optional_methods():
    op, node = Op(), negate(scalar()).owner
    assert op.make_kernel(node) is None and op.do_constant_folding(node) and op.connection_pattern(node) == [[True]]
    assert op.view_map == op.destroy_map == {} and op.default_output is None
    assert op.infer_shape(node, []) == [()]
    for call in (lambda: op.perform(node, [], []), lambda: op.infer_shape(negate(vector()).owner, [])):
        with pytest.raises(MethodNotDefined):
            call()
    with pytest.raises(NotImplementedError):
        op.R_op([], [])
    assert isinstance(op.grad([scalar("x")], [None])[0].type, NullType)


@pytest.mark.parametrize("positions, connected", [
    ((), (False, False, False)), ((1,), (False, True, False)), (slice(1, None), (False, True, True)),
    (slice(-1), (True, True, False))])
def test_an_op_says_on_which_inputs_it_depends(positions, connected):
    class Chosen(Op):
        depends_on, is_foldable = positions, False

        def make_node(self, *inputs):
            return Apply(self, list(inputs), [scalar(), scalar()])

    op, inputs = Chosen(), [scalar(), scalar(), scalar()]
    node = op.make_node(*inputs)
    assert not op.do_constant_folding(node)
    assert op.connection_pattern(node) == [[flag, flag] for flag in connected]
    assert [isinstance(term.type, NullType) for term in op.grad(inputs, [None, None])] == list(connected)
    if any(connected):
        with pytest.raises(NotImplementedError):
            op.R_op(inputs, inputs)
    else:
        assert op.R_op(inputs, inputs) == [None, None]


@pytest.mark.parametrize("kernel, expected", [(None, ["call"]), ("a kernel", ["kernel", "a kernel"])])
def test_lower(kernel, expected):
    class Emitter:
        def __init__(self):
            self.seen = []

        def call(self, node):
            self.seen += ["call"]

        def kernel(self, given, node):
            self.seen += ["kernel", given]

    emitter, op = Emitter(), Add()
    op.make_kernel = lambda node: kernel
    op.lower(emitter, None)
    assert emitter.seen == expected


# ---- test values -----------------------------------------------------------------------------------------------------
def test_test_values_are_computed():
    x = scalar("x")
    x.tag.test_value = 3
    assert not hasattr(add(x, x).tag, "test_value")
    with change_flags(compute_test_value="raise"):
        assert get_test_value(add(x, 1)) == 4.0
        assert get_debug_values(x, add(x, x)) == [(3.0, 6.0)] and get_debug_values(x) == [3.0]
        Overwrite()(x)
    assert x.get_test_value() == 3.0 and get_debug_values(x) == []


def test_test_values_are_printed_as_values_of_the_type():
    x = scalar("x")
    x.tag.test_value = 3
    with change_flags(print_test_value=True):
        assert repr(x) == f"x\n{scalar.filter(3)!r}"
        x.tag.test_value = "no number"
        assert repr(x) == "x\n'no number'"
    assert repr(x) == "x"


@pytest.mark.parametrize("action", ["raise", "warn", "ignore"])
def test_missing_test_values(action):
    x = scalar("x")
    with change_flags(compute_test_value=action):
        if action == "raise":
            with pytest.raises(ValueError, match=r"input 0 \(x\).*test_nodes.py"):
                negate(x)
            with pytest.raises(AttributeError):
                get_debug_values(x)
        elif action == "warn":
            with pytest.warns(UserWarning, match="Cannot compute test value"):
                negate(x)
        else:
            assert not hasattr(negate(x).tag, "test_value") and get_debug_values(x) == []


def test_wrong_test_values():
    x = scalar("x")
    x.tag.test_value = numpy.zeros(3)
    wrong = pytest.raises(TypeError, match="test value does not have the requested type: that of x")
    with change_flags(compute_test_value="raise"), wrong:
        negate(x)
    with pytest.raises(AttributeError, match="no test value"):
        scalar("y").get_test_value()


def test_test_values_are_pickled_unless_told_otherwise():
    x = scalar("x")
    x.tag.test_value, x.tag.note = 3.0, 1
    assert pickle.loads(pickle.dumps(x)).tag.test_value == 3.0
    with change_flags(pickle_test_value=False):
        restored = pickle.loads(pickle.dumps(x))
    assert not hasattr(restored.tag, "test_value") and restored.tag.note == 1


def test_the_shape_of_one_input():
    """``shape_as`` is the shape rule of each output; a class below may have another one."""
    class Same(Op):
        shape_as = 1

    class Other(Same):
        def infer_shape(self, node, input_shapes):
            return [(7,)]
    node = Apply(Same(), [scalar(), scalar()], [scalar(), scalar()])
    assert Same().infer_shape(node, [(2,), (3, 4)]) == [(3, 4), (3, 4)]
    assert Other().infer_shape(node, [(2,), (3, 4)]) == [(7,)]
