"""The modules of Theano that define nothing here: which names they have, and where these are defined.

``phintys.theano_finder`` makes a module from its row. Modules of Theano that do define something are files of this
folder: ``tensor/older.py`` is ``phintys.tensor.older``.

A row says, for each module of phintys, the names that it defines, separated by spaces. ``new=old`` is a name that is
called ``old`` there, ``*`` means all public names. What `graph.public_names.HOMES` says of the module belongs to it as
well, and is not repeated here. A row that is only the name of a module is another name of that module.
"""
from __future__ import annotations

from typing import Any

imported_scipy = True           # modules of Theano say whether SciPy was found

MODULES = {
    "ifelse": {"ops.graphs.ifelse": "*"},
    "typed_list": {
        "ops.lists.typed_lists": "append count extend getitem index_ insert length make_list remove reverse",
    },
    "compile.builders": {"ops.graphs.op_from_graph": "OpFromGraph"},
    "compile.debugmode": "debugging.debug_mode",
    "compile.io": "io",
    "compile.mode": "modes",
    "compile.monitormode": "debugging.monitor_mode",
    "compile.nanguardmode": "debugging.nan_guard_mode",
    "compile.ops": {
        "graph.gradients.view_op": "ViewOp view_op",
        "ops.graphs.as_op": "FromFunctionOp as_op",
        "ops.identity.deep_copy": "*",
        "ops.shape.shape": "Rebroadcast Shape Shape_i SpecifyShape shape shape_i specify_shape",
    },
    "compile.profiling": {
        "reports.profile_stats": "ProfileStats print_global_stats register_profiler_printer",
        "reports.scan_profile": "*",
    },
    "compile.sharedvalue": "shared",
    "gof.cc": "gof.link",
    "gof.destroyhandler": "graph.destroy_handler",
    "gof.fg": {"graph.errors": "InconsistencyError MissingInputError", "graph.function_graph": "FunctionGraph"},
    "gof.null_type": "graph.valueless_types",
    "gof.op": {
        "graph.debug_values": """
            compute_test_values debug_assert debug_error_message get_debug_values get_test_value
            missing_test_message""",
        "graph.op": "Op PureOp",
    },
    "gof.type": "graph.type",
    "gof.vm": "gof.link",
    "misc.safe_asarray": {"": "_asarray"},
    "sandbox.blocksparse": {"tensor.nnet.blocksparse": "*"},
    "sandbox.conv": {"tensor.nnet.conv": "ConvOp conv2d"},
    "sandbox.multinomial": {},
    "sandbox.neighbours": {"tensor.nnet.neighbours": "*"},
    "sandbox.softsign": {"tensor.nnet": "softsign"},
    "sandbox.solve": {"tensor.slinalg": "solve"},
    "scalar.basic": "scalar",
    "scalar.basic_scipy": {
        "ops.elementwise.scalar": """
            Chi2SF Erf Erfc Erfcinv Erfcx Erfinv Gamma GammaInc GammaIncC GammaL GammaLn GammaU I0 I1 Iv J0 J1 Jv Psi
            TriGamma chi2sf erf erfc erfcinv erfcx erfinv gamma gammainc gammaincc gammal gammaln gammau i0 i1 iv j0 j1
            jv psi tri_gamma""",
        "theano_modules": "imported_scipy_special=imported_scipy",
    },
    "scan_module.scan_op": {},
    "sparse.opt": {
        "ops.sparse.arithmetic": """
            AddSD_ccode=AddSD MulSDCSC=MulSD MulSDCSR=MulSD MulSVCSR=MulSV StructuredAddSVCSR=StructuredAddSV""",
        "ops.sparse.compressed": "CSMGradC=CSMGrad",
        "ops.sparse.products": """
            SamplingDotCSR=SamplingDot StructuredDotCSC=StructuredDot StructuredDotCSR=StructuredDot
            UsmmCscDense=Usmm""",
    },
    "sparse.sandbox": {},
    "sparse.sandbox.sp2": {
        "ops.sparse.draws": "csc_dbinomial csc_fbinomial csr_dbinomial csr_fbinomial multinomial poisson",
        "ops.sparse.structure": "EliminateZeros=Remove0 eliminate_zeros=remove0",
    },
    "tensor.basic": "tensor",
    "tensor.blas": {
        "graph.errors": "InconsistencyError",
        "ops.products.batched_product": "batched_dot=batched_dot_op",
        "ops.products.blas": """
            Dot _dot22=dot22 _dot22scalar=dot22scalar dot dot22 dot22scalar gemm gemm_inplace gemm_no_inplace=gemm gemv
            gemv_inplace gemv_no_inplace=gemv ger ger_destructive outer tensordot""",
    },
    "tensor.elemwise": {
        "ops.cumulative.product": "Prod ProdWithoutZeros",
        "ops.elementwise.elementwise": "Elemwise",
        "ops.reduction.reduction": "All Any CAReduce CAReduceDtype Sum",
        "ops.shape.dimshuffle": "DimShuffle",
    },
    "tensor.extra_ops": {
        "ops.creation.allocation": "Bartlett bartlett bartlett_",
        "ops.cumulative.cumulative": "CumOp CumprodOp CumsumOp DiffOp cumprod cumsum diff",
        "ops.indexing.flat_index": "ravel_multi_index unravel_index",
        "ops.linalg.diagonal": """
            FillDiagonal FillDiagonalOffset fill_diagonal fill_diagonal_ fill_diagonal_offset fill_diagonal_offset_""",
        "ops.rearranging.rearranging": "squeeze",
        "ops.rearranging.repeat": "RepeatOp compress repeat",
        "ops.shape.contiguous": "cpu_contiguous",
        "ops.sorting.bincount": "bincount",
        "ops.sorting.searching": "searchsorted to_one_hot",
    },
    "tensor.fourier": {"ops.fourier.fourier": "fft=fourier"},
    "tensor.io": {
        "ops.creation.load_from_disk": "LoadFromDisk load",
        "ops.creation.messages": """
            irecv isend mpi_cmps mpi_enabled mpi_keys mpi_send_wait_cmp mpi_send_wait_key mpi_tag_cmp mpi_tag_key recv
            send""",
    },
    "tensor.nlinalg": {
        "ops.factorizations.eigen": "eig eigh",
        "ops.factorizations.functions": "matrix_dot matrix_power tensorinv tensorsolve",
        "ops.factorizations.inverse": "det matrix_inverse pinv slogdet",
        "ops.factorizations.least_squares": "lstsq=LeastSquares",
        "ops.factorizations.orthogonal": "qr svd",
        "ops.linalg.diagonal": "AllocDiag ExtractDiag alloc_diag diag extract_diag trace",
        "ops.numpy_functions": "norm=matrix_or_vector_norm",
    },
    "tensor.scal": "scalar",
    "tensor.sharedvar": "shared",
    "tensor.slinalg": {
        "ops.factorizations.cholesky": "cholesky",
        "ops.factorizations.eigen": "eigvalsh",
        "ops.factorizations.exponential": "expm",
        "ops.factorizations.functions": "block_diag lu",
        "ops.factorizations.inverse": "lu_factor",
        "ops.factorizations.orthogonal": "qr=scipy_qr",
        "ops.factorizations.schur": """
            ordqz qz schur solve_continuous_lyapunov solve_discrete_lyapunov solve_sylvester""",
        "ops.factorizations.solve": """
            MATRIX_STRUCTURES cho_solve solve solve_lower_triangular solve_symmetric solve_triangular
            solve_upper_triangular""",
        "ops.products.products": "kron",
        "theano_modules": "imported_scipy",
    },
    "tensor.sort": {
        "ops.sorting.partitioning": "argpartition partition",
        "ops.sorting.sorting": "argsort sort",
        "ops.sorting.topk": "argtopk topk topk_and_argtopk",
    },
    "tensor.subtensor": {
        "ops.indexing.advanced_subtensor": "*",
        "ops.indexing.inc_subtensor": "inc_subtensor set_subtensor",
        "ops.indexing.slices": "get_canonical_form_slice",
        "ops.indexing.subtensor": "IncSubtensor Subtensor",
        "ops.indexing.take": "take",
    },
    "tensor.type": "ops.types.tensor_type",
    "tensor.type_other": {"ops.types.slice_type": "*"},
    "tensor.var": "ops.operators",
    "tensor.xlogx": {
        "ops.elementwise.elementwise_functions": "xlogx xlogy0",
        "ops.elementwise.scalar": "XlogX XlogY0 scalar_xlogx=xlogx scalar_xlogy0=xlogy0",
    },
    "tensor.nnet.abstract_conv": {
        "ops.convolution.functions": """
            causal_conv1d conv2d conv2d_grad_wrt_inputs conv2d_grad_wrt_weights conv3d conv3d_grad_wrt_inputs
            conv3d_grad_wrt_weights separable_conv2d separable_conv3d""",
        "ops.convolution.shapes": """
            assert_conv_shape assert_shape border_mode_to_pad check_conv_gradinputs_shape get_conv_gradinputs_shape
            get_conv_gradinputs_shape_1axis get_conv_gradweights_shape get_conv_gradweights_shape_1axis
            get_conv_output_shape get_conv_shape_1axis""",
        "ops.convolution.upsampling": """
            bilinear_kernel_1D bilinear_kernel_2D bilinear_upsampling frac_bilinear_upsampling""",
        "theano_modules": "imported_scipy_signal=imported_scipy",
    },
    "tensor.nnet.blocksparse": {
        "ops.nnet.block_sparse": """
            sparse_block_dot sparse_block_gemv sparse_block_gemv_inplace sparse_block_outer
            sparse_block_outer_inplace""",
    },
    "tensor.nnet.bn": {
        "ops.nnet.batch_normalization": """
            BNComposite batch_normalization batch_normalization_test batch_normalization_train""",
    },
    "tensor.nnet.conv": {
        "ops.convolution.old_interface": "conv2d",
        "ops.convolution.shapes": "get_conv_output_shape get_conv_shape_1axis",
        "theano_modules": "imported_scipy_signal=imported_scipy",
    },
    "tensor.nnet.Conv3D": {"ops.convolution.volumes_by_channel_last": "conv3D"},
    "tensor.nnet.conv3d2d": {
        "ops.convolution.movies": "conv3d diagonal_subtensor get_diagonal_subtensor_view inc_diagonal_subtensor",
    },
    "tensor.nnet.ConvGrad3D": {"ops.convolution.volumes_by_channel_last": "convGrad3D"},
    "tensor.nnet.ConvTransp3D": {"ops.convolution.volumes_by_channel_last": "convTransp3D"},
    "tensor.nnet.corr": {"ops.convolution.convolution": "BaseCorrMM=Correlation"},
    "tensor.nnet.corr3d": {"ops.convolution.convolution": "BaseCorr3dMM=Correlation"},
    "tensor.nnet.ctc": {"ops.nnet.ctc": "ctc ctc_available ctc_present"},
    "tensor.nnet.neighbours": {"ops.pooling.neighbours": "images2neibs neibs2images"},
    "tensor.nnet.nnet": {
        "ops.elementwise.elementwise_functions": "sigmoid softplus",
        "ops.elementwise.scalar": "ScalarSoftsign scalar_softsign",
        "ops.nnet.activations": "elu relu selu softsign",
        "ops.nnet.classification": "confusion_matrix h_softmax multiclass_hinge_loss",
        "ops.nnet.crossentropy": "*",
        "ops.nnet.prepend": "*",
        "ops.nnet.softmax": "*",
    },
    "tensor.nnet.sigm": {
        "ops.elementwise.elementwise_functions": "sigmoid softplus",
        "ops.elementwise.scalar": """
            ScalarSigmoid ScalarSoftplus UltraFastScalarSigmoid scalar_sigmoid=sigmoid scalar_softplus=softplus
            ultra_fast_scalar_sigmoid=ultra_fast_sigmoid""",
        "ops.nnet.activations": "hard_sigmoid sigmoid_inplace ultra_fast_sigmoid ultra_fast_sigmoid_inplace",
    },
    "tensor.signal.conv": {"ops.convolution.old_interface": "conv2d=signal_conv2d"},
    "tensor.signal.downsample": {
        "tensor.signal.pool": """
            AveragePoolGrad DownsampleFactorMax=Pool DownsampleFactorMaxGrad=MaxPoolGrad DownsampleFactorMaxGradGrad
            MaxPoolGrad PoolGrad max_pool_2d=pool_2d max_pool_2d_same_size""",
    },
    "tensor.signal.pool": {"ops.pooling.pool": "max_pool_2d_same_size pool_2d pool_3d"},
    "typed_list.basic": "ops.lists.typed_lists",
    "typed_list.type": "ops.lists.typed_list_type",
}

# Modules that have moved → the category of the warning when they are imported, and what it says.
WARNINGS = {
    "sandbox.blocksparse": (DeprecationWarning, "DEPRECATION: sandbox.blocksparse does not exist anymore, it has been "
                                                "moved to tensor.nnet.blocksparse."),
    "tensor.signal.downsample": (UserWarning, "downsample module has been moved to the tensor.signal.pool module."),
}


def write_stubs(package: Any, homes: Any) -> None:
    """Write what type checkers need to know of the modules in the table, which no file tells them.

    A build does, for an installed package.

    Parameters
    ----------
    package : Path
        The folder of phintys. Stubs that are there are kept.
    homes : dict
        `graph.public_names.HOMES`.
    """
    for module, row in MODULES.items():
        stub = package.joinpath(*module.split(".")).with_suffix(".pyi")
        if stub.parent.is_dir() and not stub.exists():
            places = [(row, "*")] if isinstance(row, str) else [*homes.get(f"phintys.{module}", {}).items(),
                                                                *row.items()]
            stub.write_text("".join([_import_text(inner, names.split()) for inner, names in places]))


def _import_text(inner, names):
    made_by_a_loop = "  # type: ignore[attr-defined]" if inner == "ops.elementwise.scalar" else ""
    return f"from {f'phintys.{inner}'.removesuffix('.')} import {', '.join(map(_as_public, names))}{made_by_a_loop}\n"


def _as_public(name):
    """``new=old`` → ``old as new``; in a stub, only names after ``as`` are public."""
    new, _, old = name.partition("=")
    return new if new == "*" else f"{old or new} as {new}"
