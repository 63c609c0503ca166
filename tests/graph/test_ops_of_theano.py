"""Classes of ops as programs for Theano write them: ``PureOp``, ``super(Op, self)``, thunks, indices made of types."""
import numpy
import pytest

import phintys
import phintys.scalar as scalar
import phintys.tensor as T
from phintys import gof
from phintys.graph.config import change_flags
from phintys.ops.indexing.subtensor import IncSubtensor, Subtensor

x, i, j = T.dmatrix("x"), T.lscalar("i"), T.iscalar("j")
VALUE = numpy.arange(6.0).reshape(2, 3)


class Doubles(gof.PureOp):
    """Before ``Op`` had C code, ops were written like this."""

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def make_node(self, value):
        value = T.as_tensor_variable(value)
        return gof.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = 2 * inputs[0]

    def grad(self, inputs, output_gradients):
        return [2 * output_gradients[0]]


class Integrates(phintys.Op):
    """PyMC3's solutions of differential equations call what ``Op`` inherits, and use test values."""

    itypes, otypes = [T.dvector], [T.dvector]

    def __call__(self, start, **options):
        start = T.cast(T.as_tensor_variable(start), "float64")
        states = super(phintys.Op, self).__call__(start, **options)
        if phintys.config.compute_test_value != "off":
            states.tag.test_value = self._get_test_value(start) + 1
        return states

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + 1


class ByThunk(phintys.Op):
    """An op that makes its thunk by that of ``Op``, and notes what it was given."""

    __props__ = ()
    itypes, otypes = [T.dmatrix], [T.dmatrix]

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        thunk = super().make_thunk(node, storage_map, compute_map, no_recycling, impl)
        self.thunk = thunk
        return thunk

    def prepare_node(self, node, storage_map, compute_map, impl):
        self.factor = -1 if impl == "py" and set(storage_map) == {*node.inputs, *node.outputs} else 1

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.factor * inputs[0]


def test_a_pure_op_is_an_op():
    for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode"):
        doubled = Doubles()(x)
        f = phintys.function([x], [doubled, T.grad(doubled.sum(), x), Doubles()(doubled)], mode=mode)
        for result, expected in zip(f(VALUE), [VALUE * 2, 2 + 0 * VALUE, VALUE * 4]):
            numpy.testing.assert_array_equal(result, expected)
    assert issubclass(phintys.Op, gof.PureOp) and gof.op.PureOp is gof.PureOp is not phintys.Op
    with pytest.raises(gof.MethodNotDefined, match="perform"):
        type("Empty", (gof.PureOp,), {"itypes": [T.dmatrix], "otypes": [T.dmatrix]})()(x).eval({x: VALUE})


@pytest.mark.parametrize("base", [phintys.Op, gof.PureOp])
def test_a_pure_op_is_tracked_by_optimizers(base):
    kind = type("Identity", (Doubles, base) if base is phintys.Op else (Doubles,), {})

    @gof.local_optimizer([kind])
    def drop(node):
        return [node.inputs[0]] if isinstance(node.op, kind) else False

    graph = gof.FunctionGraph([x], [T.exp(kind()(x))], clone=True)
    gof.opt.out2in(drop).optimize(graph)
    assert [node.op for node in graph.toposort()] == [T.exp]


def test_super_of_op():
    start = T.dvector("start")
    with change_flags(compute_test_value="raise"):
        start.tag.test_value = numpy.zeros(2)
        states = Integrates()(start)
        assert states.tag.test_value.tolist() == [1.0, 1.0]
    assert phintys.function([start], states)([1.0, 2.0]).tolist() == [2.0, 3.0]
    assert states.owner._position is not None


def test_values_that_ops_ask_for():
    weights = phintys.shared(numpy.ones(2))
    assert gof.Op._get_test_value(weights).tolist() == [1.0, 1.0]
    assert gof.PureOp._get_test_value(T.constant(2)) == 2
    with pytest.raises(AttributeError, match="has no test value"):
        gof.Op._get_test_value(x)


def test_thunks_of_op():
    op = ByThunk()
    node = op(x).owner
    storage = {variable: [None] for variable in [*node.inputs, *node.outputs]}
    computed = {variable: [variable is x] for variable in storage}
    thunk = op.make_thunk(node, storage, computed, [])
    storage[x][0] = VALUE
    thunk()
    assert computed[node.outputs[0]] == [True] and not thunk.lazy and thunk.inputs == [[VALUE]]
    numpy.testing.assert_array_equal(storage[node.outputs[0]][0], -VALUE)
    del op.factor
    numpy.testing.assert_array_equal(phintys.function([x], op(x))(VALUE), -VALUE)       # which prepares the node
    with pytest.raises(NotImplementedError, match="no C code"):
        op.make_c_thunk(node, storage, computed, [])


# Theano's constructor, the symbolic integers, and the same index of an array for i = 1, j = 2.
TYPES = [
    ([scalar.int64], [i], 1), ([T.lscalar], [i], 1), ([i], [i], 1), ([scalar.int32], [j - 2], 0),
    ([scalar.int64, slice(scalar.int32, None)], [i, j], (1, slice(2, None))),
    ([slice(None), slice(scalar.int64, scalar.int32, None)], [i, j], (slice(None), slice(1, 2))),
    ([slice(scalar.int64, None), 1], [i], (slice(1, None), 1)), ([scalar.int64], [scalar.as_scalar(i)], 1),
    ((slice(None, None, -1), scalar.as_scalar(i)), [i], (slice(None, None, -1), 1)),
]


@pytest.mark.parametrize("idx_list, integers, index", TYPES, ids=range(len(TYPES)))
def test_an_index_is_made_of_types(idx_list, integers, index):
    part = Subtensor(idx_list)(x, *integers)
    raised = IncSubtensor(idx_list)(x, T.ones_like(part), *integers)
    f = phintys.function([x, i, j], [part, raised], on_unused_input="ignore")
    expected = VALUE.copy()
    expected[index] += 1
    for result, wanted in zip(f(VALUE, 1, 2), [VALUE[index], expected]):
        numpy.testing.assert_array_equal(result, wanted)
    node = part.owner
    assert Subtensor(idx_list) == node.op and Subtensor(node.op.idx_list) == node.op
    assert len(T.subtensor.get_idx_list(node.inputs, node.op.idx_list)) == len(idx_list)


def test_converters_read_an_index():
    part = x[i, 1:3]
    op, inputs = part.owner.op, part.owner.inputs
    assert op.get_constant_idx(inputs, allow_partial=True) == [i, slice(1, 3)]
    assert x[0, 1:3].owner.op.get_constant_idx(x[0, 1:3].owner.inputs) == [0, slice(1, 3)]
    two = T.constant(numpy.int64(2))
    assert Subtensor([slice(scalar.int64, None)])(x, two).owner.op.get_constant_idx([x, two]) == [slice(2, None)]
    with pytest.raises(T.NotScalarConstantError):
        op.get_constant_idx(inputs)
    changed = T.set_subtensor(part, 0.0).owner
    assert changed.op.get_constant_idx(changed.inputs, allow_partial=True) == [i, slice(1, 3)]
    assert Subtensor.collapse((i, slice(1, j)), lambda part: isinstance(part, phintys.Variable)) == [i, j]
    assert Subtensor.convert(slice(j, None)) == slice(T.iscalar, None) and Subtensor.convert(scalar.int8) == T.bscalar
    for wrong in (scalar.float64, T.lvector, T.dscalar(), "0"):
        with pytest.raises(TypeError, match="must be made of integers"):
            Subtensor.convert(wrong)


def test_the_optimizer_of_a_mode():
    """As SymPy simplifies graphs."""
    mode = phintys.compile.get_default_mode().excluding("fusion")
    y = T.dscalar("y")
    graph = gof.FunctionGraph([y], [y + y + 0 * y]).clone()
    mode.optimizer.optimize(graph)
    assert [node.op.scalar_op for node in graph.apply_nodes] == [T.add.scalar_op]
    assert phintys.function(graph.inputs, graph.outputs[0])(3.0) == 6.0
    same = gof.FunctionGraph([y], [y + y])
    phintys.Mode(optimizer=None).optimizer(same)
    assert len(same.apply_nodes) == 1


class OnlyInC(scalar.UnaryScalarOp):
    def c_code(self, node, name, inputs, outputs, sub):
        return f"{outputs[0]} = 2 * {inputs[0]};"


class Whole(phintys.Op):
    __props__ = ()
    itypes, otypes = [T.dvector], [T.dvector]

    def c_code(self, node, name, inputs, outputs, sub):
        return ""


number, vector = scalar.float64("number"), T.dvector("vector")
only_in_c = OnlyInC(scalar.upgrade_to_float, name="only_in_c")
elementwise = T.Elemwise(only_in_c)
OF_C = {
    "tensor": ([vector], lambda: elementwise(vector) + 1), "number": ([number], lambda: only_in_c(number) * 2),
    "composite": ([vector], lambda: T.Elemwise(scalar.Composite([number], [only_in_c(number) + 1]))(vector)),
    "loop": ([vector], lambda: phintys.scan(elementwise, sequences=vector)[0]),
    "graph in an op": ([vector], lambda: phintys.OpFromGraph([vector], [elementwise(vector)])(vector)),
    "constant": ([], lambda: elementwise(T.constant([1.0, 2.0]))),
    "branch": ([vector], lambda: phintys.ifelse.ifelse(vector.sum() > 0, elementwise(vector), vector)),
    "whole op": ([vector], lambda: Whole()(vector)), "constant of a whole op": ([], lambda: Whole()([1.0])),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode"])
@pytest.mark.parametrize("where", OF_C)
def test_an_op_with_nothing_but_c_code_is_refused_when_the_function_is_made(where, mode):
    inputs, make = OF_C[where]
    method = "perform" if "whole" in where else "impl"
    with pytest.raises(gof.MethodNotDefined, match=rf"only C code, which phintys does not compile: write {method}\(self"
                       ".*made at .*test_ops_of_theano.py"):
        phintys.function(inputs, make(), mode=mode)


def test_an_op_that_is_not_needed_may_have_nothing_but_c_code():
    assert phintys.function([vector], elementwise(vector).shape[0])([1.0, 2.0]) == 2
