"""Names of Theano's modules that are in another module here, or that do not exist here.

If a module does not have a name, it is looked up here (`missing_names.found`). ``ELSEWHERE`` has names that Theano's
module imported from another one, or that nothing in phintys needs, and says where they are. ``INSTEAD`` has names that
make no sense here, such as C code; the error says what to use. `tests/api/test_theano_names.py` compares both with a
list of Theano's names.
"""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Names that many of Theano's modules import.
COMMON = {
    "phintys": "config", "phintys.compile": "SharedVariable", "phintys.configparser": "change_flags",
    "phintys.graph.apply": "Apply", "phintys.graph.function_graph": "FunctionGraph", "phintys.graph.op": "Op",
    "phintys.graph.type": "Type Generic generic", "phintys.graph.valueless_types": "NullType",
    "phintys.tensor.older": "hashtype key_to_cmp",
    "phintys.graph.variable": "Variable Constant",
    "phintys.gradient": "DisconnectedType disconnected_type grad_not_implemented grad_undefined",
    "phintys.printing": "pprint min_informative_str", "phintys.gof.utils": "MethodNotDefined",
    "phintys.gof": "local_optimizer optdb",
    "phintys.gof.opt": "Optimizer in2out inherit_stack_trace EquilibriumOptimizer",
    "phintys.tensor.opt": "register_canonicalize register_specialize register_stabilize",
    "phintys.tensor": """
        as_tensor_variable TensorType cast alloc arange addbroadcast tensor NotScalarConstantError SliceType NoneConst
        get_scalar_constant_value get_vector_length set_subtensor TensorConstant TensorVariable NoneTypeT make_slice""",
    "phintys.tensor.elemwise": "Elemwise DimShuffle", "phintys.tensor.blas": "Dot22", "phintys.tensor.basic": "Dot",
    "phintys.scalar": """
        Scalar as_scalar get_scalar_type BinaryScalarOp UnaryScalarOp upcast upgrade_to_float upgrade_to_float64
        upgrade_to_float_no_complex ComplexError IntegerDivisionError""",
}
OF_BASIC = """ShapeError Default Flatten default setdefault constructor check_equal_numpy numpy_scalar makeKeepDims
    check_and_normalize_axes alloc_validate_shape"""
OF_SUBTENSOR = """AdvancedIndexingError AdvancedBooleanIndexingError make_constant get_idx_list as_index_variable
    adv_index_broadcastable_pattern check_advanced_indexing_dimensions check_and_reject_bool"""

# Module → module that has the names → the names.
ELSEWHERE = {
    "phintys.tensor": {
        "phintys.tensor.older": f"{OF_BASIC} {OF_SUBTENSOR} as_int_none_variable",
        "phintys.tensor.io": "MPIRecv MPIRecvWait MPISend MPISendWait irecv isend recv send mpi_send_wait_cmp "
                             "mpi_send_wait_key mpi_tag_cmp mpi_tag_key",
        "phintys.reports.pretty_print": "SubtensorPrinter",
        "phintys.ops.operators": "TensorConstantSignature _tensor_py_operators", "phintys.scalar": "int32"},
    "phintys.compile": {"phintys.modes": "OPT_FAST_COMPILE OPT_FAST_RUN OPT_FAST_RUN_STABLE OPT_MERGE OPT_NONE OPT_O2 "
                                         "OPT_O3 OPT_STABILIZE OPT_UNSAFE"},
    "phintys.modes": {"phintys.rewrite_database": "optdb"},
    "phintys.tensor.subtensor": {"phintys.tensor.older": OF_SUBTENSOR,
                                 "phintys.reports.pretty_print": "SubtensorPrinter"},
    "phintys.tensor.elemwise": {"phintys.tensor.older": "MulWithoutZeros mul_without_zeros",
                                "phintys.reports.pretty_print": "DimShufflePrinter",
                                "phintys.misc.frozendict": "frozendict"},
    "phintys.tensor.type_other": {"phintys.tensor.older": "as_int_none_variable"},
    "phintys.scalar": {"phintys.tensor.older": "NumpyAutocaster autocast_int round_half_away_from_zero_",
                       "phintys.ops.types.constant": "convert", "phintys.tensor": "floor_div"},
    "phintys.tensor.blas": {"phintys.printing": "FunctionPrinter debugprint",
                            "phintys.gof": "SequenceDB view_roots",
                            "phintys.gof.toolbox": "ReplacementDidntRemovedError",
                            "phintys.tensor.type": "values_eq_approx_remove_inf_nan"},
    "phintys.compile.builders": {"phintys.compile": "orig_function rebuild_collect_shared",
                                 "phintys.gof.graph": "io_connection_pattern"},
    "phintys.gradient": {"phintys.tensor.older": "mode_not_slow",
                         "phintys.compile": "DebugMode FAST_RUN get_mode ViewOp",
                         "phintys.gof.op": "get_debug_values"},
    "phintys.tensor.utils": {"phintys.gof.utils": "hash_from_code"},
    "phintys.tensor.shared_randomstreams": {"phintys.compile.sharedvalue": "shared shared_constructor"},
    "phintys.sandbox.rng_mrg": {"phintys": "function"},
    "phintys.scalar.basic_scipy": {"phintys.scalar": "exp"},
}
# Modules that have nothing else of this kind than names that they imported in Theano.
MERELY_IMPORTING = """
    tensor.extra_ops tensor.slinalg tensor.nlinalg tensor.sort tensor.fft tensor.fourier tensor.io tensor.xlogx
    tensor.utils tensor.inplace tensor.raw_random tensor.shared_randomstreams typed_list sandbox.linalg.ops
    sandbox.fourier sandbox.multinomial sandbox.rng_mrg scalar.basic_scipy scalar.sharedvar misc.pkl_utils"""
for _name in MERELY_IMPORTING.split():
    ELSEWHERE.setdefault(f"phintys.{_name}", {})

C_CODE = "phintys generates no C code; an op computes by perform, or by a kernel in Cython (CONTRIBUTING.md)"
REWRITES = "the optimizer's rewrites are rows of tables here; a mode includes and excludes them by Theano's names"
MERGED_PRODUCTS = "the optimizer merges products into calls of BLAS by itself; Mode.excluding('BlasOpt') prevents it"
STABLE = "the optimizer finds such expressions by patterns; Mode.excluding('stabilize') leaves them as they are"
GPU = "use phintys.gpu, or PHINTYS_FLAGS=device=cuda, which moves functions to a GPU"
SIGMOIDS = "compute_mul is_1pexp is_exp is_neg parse_mul_tree perform_sigm_times_exp"
ADVANCED = {"use AdvancedSubtensor, of which AdvancedBooleanSubtensor is a subclass": "BaseAdvancedSubtensor",
            "use AdvancedIncSubtensor, of which AdvancedBooleanIncSubtensor is a subclass": "BaseAdvancedIncSubtensor"}
# Names of the paper on Theano (Table 1) and of its tutorials' text, which no module of Theano has, at the top or in
# ``tensor``: what to use instead → names.
OF_THE_PAPER = {
    "use phintys.ifelse.ifelse(condition, a, b), which computes one of both, or T.switch, which works elementwise":
        "cond Cond ifelse",
    "use phintys.scan": "scan Scan", "use T.nnet.conv2d": "conv2d convolve2d",
    "use T.signal.pool.pool_2d": "max_pool_2d max_pool",
    "write T.dot, and sums of products: the compiler calls BLAS": "gemm gemv ger Gemm Gemv Ger",
    "use phintys.Rop": "R_op", "use phintys.Lop": "L_op", "use T.eye": "identity", "use T.neq": "ne",
    "use T.nlinalg or T.slinalg": "cholesky inv solve", "use T.fft": "FFT",
    "use phintys.printing.Print": "Print",
    "use T.shared_randomstreams.RandomStreams": "RandomStreams",
    "use phintys.sandbox.rng_mrg.MRG_RandomStreams": "MRG_RandomStreams",
    "use phintys.compile.DebugMode": "DebugMode", "use phintys.function(..., profile=True)": "ProfileMode",
}

# Module → what to use instead → names.
INSTEAD = {
    "phintys": {"use phintys.tensor, which is usually imported as T":
                    "T switch alloc eye exp log dimshuffle outer tensordot diag set_subtensor inc_subtensor",
                "use T.verify_grad, and numpy.testing in place of unittest_tools": "tests"},
    "phintys.sandbox": {GPU: "cuda gpuarray"},
    "phintys.tensor": {
        C_CODE: "inc_code int32_t elemwise_cgen ParamsType", **ADVANCED,
        "use T.blas, whose ops need no C compiler": "blas_c blas_scipy blas_headers",
        "constants of equal value are merged in each graph": "constant_cache",
        "use phintys.tensor, which is usually imported as T": "T"},
    "phintys.tensor.nnet": {STABLE: SIGMOIDS}, "phintys.tensor.nnet.sigm": {STABLE: SIGMOIDS},
    "phintys.tensor.nnet.nnet": {STABLE: "local_advanced_indexing_crossentropy_onehot local_log_softmax"},
    "phintys.scalar": {
        "float16 is computed in float32 by every kernel, so nothing needs to be converted":
            "Compositef32 composite_f32 handle_cast handle_composite"},
    "phintys.tensor.blas": {
        C_CODE: "ldflags blas_header_text blas_header_version bool_t ParamsType",
        REWRITES: "GemmOptimizer GemmRelated blas_opt_inplace blas_optdb check_init_y res_is_a",
        MERGED_PRODUCTS: """
            _as_scalar _beta_L_plus_alpha_M _factor_canonicalized _gemm_canonicalize _gemm_from_factored_list
            _is_real_matrix _is_real_vector local_dot22_to_dot22scalar local_dot_to_dot22 local_gemm_to_gemv
            local_gemm_to_ger local_inplace_gemm local_inplace_gemv"""},
    "phintys.tensor.elemwise": {C_CODE: "COp OpenMPOp ParamsType"},
    "phintys.tensor.extra_ops": {C_CODE: "EnumList ParamsType int_t"},
    "phintys.tensor.subtensor": {C_CODE: "inc_code ParamsType", **ADVANCED},
    "phintys.tensor.raw_random": {REWRITES: "random_make_inplace"},
    "phintys.sandbox.linalg.ops": {
        "hints are nodes of the graph until the optimizer has used them; hints(variable) returns those of a variable":
            "HintsFeature HintsOptimizer is_hint_node no_transpose_symmetric"},
    "phintys.sandbox.fourier": {"the transforms of this module have gradients": "GradTodo grad_todo"},
    "phintys.sandbox.rng_mrg": {
        C_CODE: "ParamsType bool_t int_t", REWRITES: "mrg_random_make_inplace",
        "mrg_uniform draws from many states at once": "mrg_next_value"},
    "phintys.compile": {C_CODE: """
        register_deep_copy_op_c_code register_rebroadcast_c_code register_shape_c_code register_shape_i_c_code
        register_specify_shape_c_code register_view_op_c_code"""},
    "phintys.compile.builders": {REWRITES: "inline_ofg_expansion"},
    "phintys.misc": {"phintys has no scripts of this kind; asv_bench/ measures speed, and phintys.test() checks values":
                     "check_blas elemwise_time_test elemwise_openmp_speedup latence_gpu_transfer buildbot_filter"},
    "phintys.misc.ordered_set": {"the sets are dictionaries, and have no links": "Link"},
    "phintys.misc.pkl_utils": {
        "values of shared variables are NumPy arrays in every pickle; see PersistentNdarrayID": "PersistentGpuArrayID",
        "CompatUnpickler reads what Python 2 wrote": "load_reduce"},
    "phintys.typed_list": {REWRITES: "opt"},
    "phintys.sparse.sandbox": {"use T.nnet.conv2d and T.signal.pool, which need no sparse matrices": "sp",
                               "use phintys.sparse.true_dot": "truedot"},
}


def _by_name(table):
    return {(module, name): place for module, places in table.items() for place, names in places.items()
            for name in names.split()}


_ELSEWHERE, _INSTEAD = _by_name(ELSEWHERE), _by_name(INSTEAD)
_OF_THE_PAPER = {name: place for place, names in OF_THE_PAPER.items() for name in names.split()}
_COMMON = {name: place for place, names in COMMON.items() for name in names.split()}


def place_of(module: str, name: str) -> str | None:
    """Return the name of the module that has a name which Theano's module has; None if there is none."""
    found = _ELSEWHERE.get((module, name))
    return found or (_COMMON.get(name) if module in ELSEWHERE else None)


def found_elsewhere(module: str, name: str) -> Callable[..., Any]:
    """Return what Theano's module has under a name; raise KeyError if it is nowhere."""
    place = place_of(module, name)
    if place is None:
        raise KeyError(name)
    return getattr(import_module(place), name)


def advice(module: str, name: str) -> Any:
    """Return what to use instead of a name, or None."""
    found = _INSTEAD.get((module, name))
    if found is None and module in ("phintys", "phintys.tensor"):
        found = _OF_THE_PAPER.get(name)
    if module.startswith("phintys.gpuarray") and name != "dnn":
        return GPU
    if found is None and (module == "phintys.tensor.opt" or name.startswith("local_") and module in ELSEWHERE):
        return REWRITES
    return found
