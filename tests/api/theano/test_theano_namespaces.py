"""Theano's submodules and the names that its programs take from them."""
import copy
import importlib
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import In, function

# Module → names in it.
NAMES = {
    "phintys.gof.op": "Op debug_assert debug_error_message get_debug_values get_test_value missing_test_message",
    "phintys.gof.type": "Type Generic generic",
    "phintys.gof.fg": "FunctionGraph InconsistencyError MissingInputError",
    "phintys.gof.null_type": "NullType",
    "phintys.gof.utils": "MethodNotDefined",
    "phintys.gof.graph": """Apply Variable Constant ancestors as_string clone equal_computations general_toposort inputs
        io_toposort is_same_graph list_of_nodes ops orphans variables""",
    "phintys.compile.pfunc": "pfunc rebuild_collect_shared Param iter_over_pairs",
    "phintys.compile.function": "function",
    "phintys.gof": """Apply Bookkeeper DB DestroyHandler EquilibriumDB EquilibriumOptimizer Feature History
        LocalOptGroup MergeOptimizer NodeFinder OpKeyOptimizer OpRemove OpSub Optimizer PatternSub ProxyDB PureOp Query
        ReplaceValidate SeqOptimizer SequenceDB TopoOptimizer inplace_optimizer local_optimizer optimizer toolbox utils
        view_roots""",
    "phintys.gof.destroyhandler": "DestroyHandler",
    "phintys.compile.io": "In Out SymbolicInput SymbolicOutput",
    "phintys.compile.debugmode": "BadOptimization BadViewMap DebugMode DebugModeError InvalidValueError",
    "phintys.compile.monitormode": "MonitorMode detect_nan",
    "phintys.compile.nanguardmode": "NanGuardMode",
    "phintys.compile.mode": "FAST_RUN Mode get_default_mode get_mode predefined_modes",
    "phintys.compile.sharedvalue": "SharedVariable shared",
    "phintys.compile.function_module": "Function FunctionMaker",
    "phintys.compile.ops": "FromFunctionOp Shape Shape_i SpecifyShape ViewOp as_op",
    "phintys.compile.builders": "OpFromGraph",
    "phintys.gradient": """DisconnectedType Lop NullType Rop consider_constant disconnected_grad format_as grad
        grad_clip grad_not_implemented grad_scale grad_undefined hessian hessian_vector_product jacobian numeric_grad
        subgraph_grad undefined_grad verify_grad zero_grad""",
    "phintys.printing": """Print debugprint default_printer hex_digest leaf_printer min_informative_str pp pprint
        pydot_imported pydotprint var_descriptor""",
    "phintys": "OpFromGraph as_op debugprint pp",
    "phintys.compile": """OpFromGraph as_op builders ViewOp Shape_i io mode ops DebugMode MonitorMode
        NanGuardMode debugmode""",
    "phintys.tensor.basic": "dot as_tensor_variable NotScalarConstantError get_scalar_constant_value _allclose",
    "phintys.tensor.blas": """Dot22 Gemm Gemv Ger _dot22 _dot22scalar gemm_inplace gemm_no_inplace gemv_inplace
        gemv_no_inplace ger ger_destructive""",
    "phintys.tensor.inplace": "exp_inplace add_inplace fill_inplace transpose_inplace",
    "phintys.tensor.opt": "Assert MakeVector Shape_i assert_ assert_op make_vector",
    "phintys.tensor.sharedvar": "TensorSharedVariable",
    "phintys.tensor.subtensor": "Subtensor IncSubtensor inc_subtensor set_subtensor",
    "phintys.tensor.type": """TensorType values_eq_approx_always_true values_eq_approx_remove_inf
        values_eq_approx_remove_inf_nan values_eq_approx_remove_nan""",
    "phintys.tensor.var": "TensorConstant TensorVariable _tensor_py_operators",
    "phintys.scalar.basic": "Scalar add float64 upcast",
    "phintys.tensor.extra_ops": "CumOp CumprodOp CumsumOp",
    "phintys.tensor.io": "LoadFromDisk load",
    "phintys.tensor.utils": "hash_from_ndarray shape_of_variables",
    "phintys.tensor.xlogx": "XlogX XlogY0 scalar_xlogx scalar_xlogy0 xlogx xlogy0",
    "phintys.tensor": """_convert_to_float64 _convert_to_int8 float32_atol float64_rtol join_ load register_transfer
        scal transfer values_eq_approx_always_true""",
    "phintys.compat": "PY3 cmp exc_message imap izip operator_div",
    "phintys.configparser": "AddConfigVar BoolParam EnumStr FloatParam IntParam StrParam change_flags",
    "phintys.misc.may_share_memory": "may_share_memory",
    "phintys.misc.pkl_utils": "CompatUnpickler StripPickler dump load",
    "phintys.raise_op": "Raise",
    "phintys.configdefaults": "local_bitwidth python_int_bitwidth",
}


@pytest.mark.parametrize("module", NAMES)
def test_names(module):
    found = importlib.import_module(module)
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


@pytest.mark.parametrize("module", ["phintys.gof.graph", "phintys.compile.ops", "phintys.tensor.blas",
                                    "phintys.tensor.inplace", "phintys.tensor.opt"])
def test_all_of_the_submodules_exists(module):
    found = importlib.import_module(module)
    assert [name for name in found.__all__ if not hasattr(found, name)] == []


@pytest.mark.parametrize("name", ["basic", "blas", "inplace", "opt", "sharedvar", "subtensor", "type"])
def test_submodules_are_attributes(name):
    assert getattr(T, name) is importlib.import_module("phintys.tensor." + name) and name in dir(T)


def test_a_submodule_does_not_hide_a_function():
    importlib.import_module("phintys.tensor.var")
    assert callable(T.var) and callable(phintys.shared)


def test_unknown_names_of_tensor():
    with pytest.raises(AttributeError, match="no_such_name"):
        T.no_such_name


# ---- in-place functions ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, arguments", [("exp", [numpy.array([1.0, 2.0])]), ("neg", [numpy.array([1, -2])]),
                                             ("add", [numpy.array([1.0, 2.0]), numpy.array([3.0, 4.0])]),
                                             ("second", [numpy.array([1.0, 2.0]), numpy.array([3.0, 4.0])])])
def test_inplace_functions_compute_the_same(name, arguments):
    variables = [T.tensor(str(argument.dtype), (False,)) for argument in arguments]
    result = getattr(T.inplace, name + "_inplace")(*variables)
    assert result.owner.op.destroy_map == {0: [0]} and str(result.owner.op) == name + "_inplace"
    expected = function(variables, getattr(T, name)(*variables), on_unused_input="ignore")(*arguments)
    found = function(variables, result, accept_inplace=True)(*arguments)
    assert found.dtype == expected.dtype and numpy.array_equal(found, expected)
    with pytest.raises(TypeError, match="inplace"):
        function(variables, result)


MIXED = [("add", ["int64", "float64"], [[5, -2], [0.75, 0.5]], [5, -1]),
         ("true_div", ["int32", "int32"], [[7, -7], [2, 2]], [3, -3]),
         ("exp", ["int8"], [[0, 1]], [1, 2]), ("lt", ["float32", "float64"], [[1, 2], [2, 1]], [1, 0]),
         ("mul", ["float32", "float64"], [[1, 2], [0.1, 0.1]], [0.1, 0.2]), ("neg", ["uint8"], [[1, 2]], [255, 254])]


@pytest.mark.parametrize("name, dtypes, values, expected", MIXED, ids=[row[0] for row in MIXED])
@pytest.mark.parametrize("mode", [None, "DebugMode"])
def test_inplace_functions_keep_the_dtype_of_the_first_argument(name, dtypes, values, expected, mode):
    """The result is computed in the common dtype, and then cast."""
    variables = [T.tensor(dtype, (False,)) for dtype in dtypes]
    arrays = [numpy.array(value, dtype) for value, dtype in zip(values, dtypes)]
    result = getattr(T.inplace, name + "_inplace")(*variables)
    scalar_op = result.owner.op.scalar_op
    assert isinstance(scalar_op, type(getattr(phintys.scalar, name))) and scalar_op.output_dtypes(
        tuple(dtypes)) == (dtypes[0],)
    found = function(variables, result, accept_inplace=True, mode=mode)(*arrays)
    assert found.dtype == dtypes[0] and numpy.array_equal(found, numpy.array(expected, dtypes[0]))
    again = pickle.loads(pickle.dumps(result.owner.op))
    assert again == result.owner.op and again.scalar_op is scalar_op and copy.copy(scalar_op) is scalar_op


def test_inplace_functions_refuse_what_the_first_argument_cannot_hold():
    with pytest.raises(TypeError, match="float64 cannot hold it"):
        T.inplace.add_inplace(T.dvector(), T.zvector())
    with pytest.raises(TypeError, match="complex"):
        T.inplace.mod_inplace(T.zvector(), T.zvector())


def test_gradient_of_an_inplace_function():
    x, y = T.fvector(), T.dvector()
    gradients = phintys.grad(T.inplace.mul_inplace(x, y).sum(), [x, y])
    found = function([x, y], gradients, accept_inplace=True)(numpy.ones(2, "float32"), numpy.full(2, 3.0))
    assert [list(value) for value in found] == [[3, 3], [1, 1]]


def test_gemm_inplace_refuses_to_overwrite_what_it_reads():
    z, one = T.dmatrix(), numpy.float64(1)
    with pytest.raises(phintys.InconsistencyError, match="aliased") as caught:
        T.blas.gemm_inplace(z, one, z.T, T.dmatrix(), one)
    assert caught.value.args[0] is T.blas.Gemm.E_z_uniq


@pytest.mark.parametrize("scale, exception", [(numpy.complex128(1j), "complex"), (T.dvector(), "dimensions")])
def test_ger_refuses(scale, exception):
    with pytest.raises(TypeError, match=exception):
        T.blas.ger(T.dmatrix(), scale, T.dvector(), T.dvector())


# ---- constants -------------------------------------------------------------------------------------------------------
a, row, shared_row = T.constant([[1.0, 2.0], [3.0, 4.0]]), T.row(), phintys.shared(numpy.ones((1, 3)))
b = T.iscalar()

KNOWN = [
    ("number", 3, 3), ("array", numpy.array(3.5), 3.5), ("equal elements", T.constant([2.0, 2.0]), 2),
    ("fill", T.fill(T.dmatrix(), 4.0), 4), ("alloc", T.alloc(5.0, b, 2), 5),
    ("view", T.constant(6.0).dimshuffle("x"), 6),
    ("element", a[1, 0], 3), ("negative position", a[-1, -1], 4),
    ("position that is constant", a[T.constant(1), 1], 4), ("element of a vector of scalars", T.stack([b, 7])[1], 7),
    ("elementwise", T.constant(2.0) * 3 + 1, 7), ("length of a row", row.shape[0], 1),
    ("static length", T.opt.Shape_i(1)(a), 2), ("true assertion", T.opt.assert_op(T.constant(8), T.constant(1) > 0), 8),
    ("cast", T.cast(T.constant(9), "float32"), 9),
]
UNKNOWN = [
    ("input", b), ("different elements", a), ("computed from an input", b + 1),
    ("element that is an input", T.stack([b, 7])[0]),
    ("position that is an input", a[b, 0]), ("symbolic length", row.shape[1]), ("shared variable", shared_row),
    ("false assertion", T.opt.assert_op(T.constant(8), T.constant(1) < 0)), ("elements", numpy.array([0, 1])),
    ("assertion about an input", T.opt.assert_op(T.constant(8), b > 0)), ("strings", numpy.array("text")),
]


@pytest.mark.parametrize("variable, value", [row[1:] for row in KNOWN], ids=[row[0] for row in KNOWN])
def test_known_value(variable, value):
    found = T.get_scalar_constant_value(variable)
    assert found.shape == () and found == value and T.extract_constant(variable) == value
    found += 1
    assert T.get_scalar_constant_value(variable) == value


@pytest.mark.parametrize("variable", [row[1] for row in UNKNOWN], ids=[row[0] for row in UNKNOWN])
def test_unknown_value(variable):
    with pytest.raises(T.NotScalarConstantError):
        T.get_scalar_constant_value(variable)
    assert T.extract_constant(variable) is variable


def test_limits_of_known_values():
    with pytest.raises(T.EmptyConstantError):
        T.get_scalar_constant_value(numpy.array([]))
    two = T.constant(1.0) + 1
    for options in ({"elemwise": False}, {"only_process_constants": True}, {"max_recur": 0}):
        with pytest.raises(T.NotScalarConstantError):
            T.get_scalar_constant_value(two, **options)
    assert phintys.get_scalar_constant_value(two) == 2


def test_vector_length():
    assert T.get_vector_length(T.stack([b, 2])) == 2 and T.get_vector_length(a.shape) == 2
    with pytest.raises(ValueError, match="length not known"):
        T.get_vector_length(T.dvector())
    with pytest.raises(TypeError, match="vector"):
        T.get_vector_length(T.dmatrix())


def test_assertions():
    x = T.dvector()
    checked = T.opt.Assert("too long")(x, x.size < 3)
    f = function([x], [checked * 2, T.grad((checked ** 2).sum(), x)])
    assert numpy.array_equal(f([1.0, 2.0]), [[2.0, 4.0], [2.0, 4.0]])
    with pytest.raises(AssertionError, match="too long"):
        f([1.0, 2.0, 3.0])
    with pytest.raises(AssertionError, match="scalars"):
        T.opt.assert_op(x, x > 0)


# ---- graphs as text and in order -------------------------------------------------------------------------------------
def test_as_string():
    from phintys.gof.graph import as_string
    x, y = T.dscalars("xy")
    total = T.exp(x)
    names = {"leaf_formatter": str, "node_formatter": lambda node, texts: f"{node.op.scalar_op}({','.join(texts)})"}
    assert as_string([x, y], [total * total, y], **names) == ["mul(*1 -> exp(x),*1)", "y"]
    assert as_string([total], [total * y], **names) == [f"mul({total},y)"]
    for _ in range(3000):
        total = -total
    assert as_string([x], [total], **names)[0].count("neg(") == 3000


def test_general_toposort():
    from phintys.gof.graph import general_toposort
    needs = {"c": ["a", "b"], "d": ["c", "c"], "a": None, "b": []}
    assert general_toposort(["d"], needs.get) == ["b", "a", "c", "d"]
    with pytest.raises(ValueError, match="cycles"):
        general_toposort([1], {1: [2], 2: [1]}.get)


def test_same_graph_in_both_directions():
    x, y = T.dvectors("xy")
    assert phintys.gof.graph.is_same_graph(x * 2, y * 2, givens={x: y}, debug=True)


# ---- ops from Python functions ---------------------------------------------------------------------------------------
@phintys.compile.as_op([T.dvector, T.dvector], [T.dvector, T.dscalar])
def shifted_and_sum(x, y):
    return x + y[:1], numpy.asarray(y.sum())


def test_as_op():
    x, y = T.dvectors("xy")
    results = shifted_and_sum(x, y)
    shifted, total = function([x, y], results)([1.0, 2.0], [3.0, 4.0])
    assert shifted.tolist() == [4.0, 5.0] and total == 7.0
    assert pickle.loads(pickle.dumps(results[0])).owner.op == shifted_and_sum
    with pytest.raises(ValueError, match="2 inputs"):
        shifted_and_sum(x)
    with pytest.raises(TypeError, match="itypes"):
        phintys.compile.as_op("double", T.dvector)


def test_as_op_shape():
    doubled = phintys.compile.as_op(T.dvector, T.dvector, lambda node, shapes: shapes)(lambda x: 2 * x)
    x = T.dvector()
    f = function([x], doubled(x).shape)
    assert f([1.0, 2.0]).tolist() == [2]
    assert doubled not in [node.op for node in f.maker.fgraph.toposort()]


# ---- functions -------------------------------------------------------------------------------------------------------
def function_with_default():
    x, y, s = T.dscalars("x", "y", "s")
    return function([x, In(y, value=1.0), In(s, value=0.0, update=s + x * y)], s + x * y), y, s


def test_defaults_can_be_read_and_set():
    f, y, s = function_with_default()
    assert f["y"] == f[y] == 1.0 and f(3.0) == 3.0 and f(3.0, y=2.0) == 9.0 and f[y] == 1.0
    f[y] = 5
    assert f[y].dtype == "float64" and f(2.0) == 19.0 and f[s] == 19.0
    with pytest.raises(TypeError):
        f["y"] = numpy.ones(3)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f, protocol=0)),
                                       lambda f: pickle.loads(pickle.dumps(f, protocol=-1))])
def test_duplicates_keep_defaults(duplicate):
    f, _, _ = function_with_default()
    f["y"] = 5.0
    twin = duplicate(f)
    twin["s"] = 0.0
    assert twin["y"] == 5.0 and twin(2.0) in (10.0, [10.0])
    twin["y"] = 6.0
    assert f["y"] == 5.0


def test_an_unused_input_is_told_before_a_missing_one():
    x, y = T.dscalars("xy")
    with pytest.raises(phintys.compile.UnusedInputError):
        function([y], x)
    with pytest.raises(phintys.gof.MissingInputError):
        function([y], x + y)


@pytest.mark.parametrize("value, dtype, expected", [([1, 2], "float32", "float32"), (3, "floatX", "float64")])
def test_asarray(value, dtype, expected):
    found = phintys._asarray(value, dtype)
    assert found.dtype == expected and numpy.array_equal(found, value)


def test_allclose():
    assert T._allclose(numpy.float32(1), 1 + 1e-6) and not T._allclose(1.0, 1.001) and T._allclose(1.0, 1.1, rtol=0.2)


def test_widths():
    widths = phintys.configdefaults
    assert widths.local_bitwidth() in (32, 64) and widths.python_int_bitwidth() in (32, 64)


@pytest.mark.parametrize("name", ["PerformLinker", "CLinker", "OpWiseCLinker", "DualLinker", "VM_Linker"])
def test_linkers_by_hand(name):
    linker = getattr(phintys.gof, name)
    x, y = T.dscalars("xy")
    fgraph = phintys.gof.FunctionGraph([x, y], [x * y + 1], clone=False)
    assert linker().accept(fgraph).make_function()(2.0, 3.0) == 7
    assert linker().accept(fgraph).make_function(unpack_single=False)(2.0, 3.0) == [7]
    thunk, (first, second), (result,) = linker().accept(fgraph).make_thunk()
    first.data, second.data = 4.0, 5.0
    thunk()
    assert result.data == 21 and result[0] == 21
    assert phintys.function([x], x + 1, mode=phintys.Mode(linker()))(1.0) == 2


def test_a_linker_takes_one_graph():
    x = T.dscalar("x")
    linker = phintys.gof.PerformLinker()
    first = linker.accept(phintys.gof.FunctionGraph([x], [x + 1], clone=False))
    second = linker.accept(phintys.gof.FunctionGraph([x], [x + 2], clone=False))
    assert first is linker and second is not linker
    assert first.make_function()(0.0) == 1 and second.make_function()(0.0) == 2
    with pytest.raises(NotImplementedError, match="MonitorMode"):
        phintys.gof.VM_Linker(callback=print)


# ---- small things that programs take from submodules -----------------------------------------------------------------
def test_clip_with_crossed_bounds():
    x, low, high = T.dvector(), T.dscalar(), T.dscalar()
    value = numpy.array([0.0, 0.3, 0.7])
    for f in (function([x, low, high], T.clip(x, low, high)),
              function([x, low, high], T.clip(x, 0.5, 0.2) + 0 * (low + high))):
        assert list(f(value, 0.5, 0.2)) == [0.5, 0.5, 0.2]


def test_x_log_x_at_zero():
    value = numpy.array([0.0, 1.0, 2.0])
    assert numpy.allclose(T.xlogx.xlogx(value).eval(), [0, 0, 2 * numpy.log(2)])
    assert list(T.xlogx.xlogy0([0.0, 0.0], [0.0, numpy.nan]).eval()) == [0, 0]
    x = T.dvector()
    assert numpy.allclose(phintys.grad(T.xlogx.xlogx(x).sum(), x).eval({x: value + 1}), 1 + numpy.log(value + 1))


def test_may_share_memory():
    import scipy.sparse

    from phintys.misc.may_share_memory import may_share_memory
    array, matrix = numpy.zeros((2, 3)), scipy.sparse.csr_matrix(numpy.eye(3))
    assert may_share_memory(array, array[1:]) and not may_share_memory(array, array.copy())
    assert may_share_memory(matrix, matrix.data[1:]) and may_share_memory(matrix.T, matrix)
    assert not may_share_memory(matrix, matrix.copy()) and not may_share_memory(array, matrix)
    for strange in (3, None, [array]):
        assert may_share_memory(array, strange, raise_other_type=False) is False
        with pytest.raises(TypeError, match=type(strange).__name__):
            may_share_memory(strange, array)


def test_shapes_of_variables():
    x, n = T.dmatrix("x"), T.lscalar("n")
    y, z = x[2:], T.zeros((n, 2))
    fgraph = phintys.FunctionGraph([x, n], [T.dot(y, y.T).sum(axis=0), z], clone=False)
    shapes = T.utils.shape_of_variables(fgraph, {x: (5, 4), n: ()})
    assert shapes[x] == (5, 4) and shapes[y] == (3, 4) and shapes[fgraph.outputs[0]] == (3,) and shapes[z] is None
    for strange in ({x: (5, 4)}, {x: (5, 4), n: (), y: (3, 4)}):
        with pytest.raises(ValueError, match="input_shapes"):
            T.utils.shape_of_variables(fgraph, strange)


def test_hashes_of_arrays():
    hashes = [T.utils.hash_from_ndarray(array) for array in (
        numpy.zeros(4), numpy.zeros(4, "int64"), numpy.zeros((4, 1)), numpy.zeros((2, 2)), numpy.ones(4),
        numpy.zeros(8)[::2])]
    assert len(set(hashes)) == len(hashes) and hashes[0] == T.utils.hash_from_ndarray(numpy.zeros(4))


def test_transfer():
    x = T.dvector()
    assert T.transfer(x, "cpu") is x is x.transfer("cpu")
    with pytest.raises(ValueError, match="Can't transfer to target moon"):
        x.transfer("moon")
    T.register_transfer(lambda variable, target: variable * 0 if target == "test moon" else None)
    assert x.transfer("test moon").eval({x: [1.0]}) == [0]


def test_raise():
    x = T.dvector()
    with pytest.raises(KeyError, match="not needed"):
        function([x], phintys.raise_op.Raise("not needed", KeyError)(x) + 1)([1.0])


def test_messages_of_exceptions():
    assert phintys.compat.exc_message(ValueError(KeyError("inner"), 3)) == "inner"


def test_scalar_constant_value_is_a_method():
    assert (T.constant(2) * 3).get_scalar_constant_value() == 6
    with pytest.raises(T.NotScalarConstantError):
        T.dscalar().get_scalar_constant_value()


def test_values_that_are_equal_whatever_is_not_finite():
    from phintys.tensor import type as types
    a = numpy.array([1.0, numpy.inf, numpy.nan])
    assert types.values_eq_approx_remove_inf_nan(a, numpy.array([1.0, 2, 3]))
    assert types.values_eq_approx_remove_inf(a, numpy.array([1.0, 2, numpy.nan]))
    assert types.values_eq_approx_remove_nan(a, numpy.array([1.0, numpy.inf, 3]))
    assert not types.values_eq_approx_remove_nan(a, numpy.array([1.0, 2, 3]))
    assert not types.values_eq_approx_remove_inf(a, numpy.array([1.0, 2, 3]))


def test_sizes_of_types():
    type_ = T.fmatrix
    assert type_.get_size(type_.get_shape_info(numpy.zeros((2, 3), "float32"))) == 24
    assert type_.to_scalar_type() == phintys.scalar.float32


def test_common_dtype_of_numbers():
    k, x = phintys.scalar.int8("k"), phintys.scalar.float32("x")
    first, second, third = phintys.scalar.as_common_dtype(k, x, 2)
    assert first.dtype == second.dtype == third.dtype == "float32" and phintys.scalar.int8 in phintys.scalar.int_types
    assert [variable.name for variable in phintys.scalar.complexs64("ab")] == ["a", "b"]
    scalar = phintys.scalar
    assert scalar.all_types == (scalar.bool,) + scalar.integer_types + scalar.continuous_types
    assert scalar.integer_types[::4] == (scalar.int8, scalar.uint8)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rounding_of_arrays(dtype):
    a = numpy.array([0.49951171875, 0.5, -0.5, 2.5, -1.25, numpy.inf, numpy.nan, -0.0], dtype)
    rounded = phintys.scalar.round_half_away_from_zero_vec(a)
    numpy.testing.assert_array_equal(rounded, [0, 1, -1, 3, -1, numpy.inf, numpy.nan, 0])
    x = T.TensorType(dtype, (False,))()
    numpy.testing.assert_array_equal(rounded, phintys.function([x], T.round(x, "half_away_from_zero"))(a))
    assert rounded.dtype == dtype


def test_constants_for_rewrites_of_users():
    assert T.opt.get_scalar_constant_value(T.constant(3)) == 3
    with pytest.raises(T.opt.NotScalarConstantError):
        T.opt.get_scalar_constant_value(T.dscalar())


def test_graphs_with_their_shared_variables():
    x, y, state = T.dscalar("x"), T.dscalar("y"), phintys.shared(1.0, "state")
    given, made, (copies, updates, new, found) = phintys.compile.rebuild_collect_shared(
        [x * state + y], [x], replace={y: T.constant(numpy.float64(3))}, updates={state: state + x})
    assert copies[x] is given[0] and given[0] is not x and found == [state] and list(new) == [state]
    f = phintys.function(given, [*made, new[state]])
    assert [value.item() for value in f(2.0)] == [5.0, 3.0] and list(updates) == [state] and copies[state] is not state
    assert phintys.compile.rebuild_collect_shared(x, [x])[1].type == x.type
    assert phintys.compile.pfunc([x], x + 1)(1.0) == 2


def test_pfunc_calls_its_inputs_params():
    x = T.dscalar("x")
    pfunc = phintys.compile.pfunc
    assert pfunc(params=[x], outputs=x * 2)(3.0) == 6.0
    s = phintys.shared(1.0)
    f = pfunc([x], [x, s], updates=[(s, s + x)], name="named", output_keys=["first", "second"])
    assert f(2.0) == {"first": 2.0, "second": 1.0} and s.get_value() == 3.0 and f.name == "named"
    assert __file__ in pfunc([x], x).name
    with pytest.raises(ValueError, match="2 output_keys for 1 outputs"):
        pfunc([x], [x], output_keys=["a", "b"])


def test_tensor_opt_has_the_tools_for_rewrites():
    assert T.opt.in2out is phintys.gof.opt.in2out and T.opt.out2in is phintys.gof.opt.out2in
