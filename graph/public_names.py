"""The public names of classes: in pickles, in tracebacks and in ``help``.

A pickle names a class by ``__module__``. Files move between folders, and pickles must stay readable; so every class
that users can pickle or catch names a module that they can import. ``HOMES`` is the only table of these. Names that
only pickles use (functions that put a graph together, ops that only rewrites make) are in ``phintys.pickled``, which
finds them by this table. When a file moves, its row here is changed, and no pickle changes.

``at_home`` applies the table: to ops, types, variables and nodes when the class is made, to everything else as a
decorator. Functions need no rows: a public namespace calls ``adopt`` for those it exports, and the first to do so is
their public module.
"""
from types import FunctionType
from typing import Any, TypeVar

Named = TypeVar("Named")           # a class or a function

# Folders whose files may move.
INNER = tuple([f"phintys.{room}." for room in "ops vm graph optimizer making debugging reports".split()])

# Public module → module of phintys that defines → the names it defines.
HOMES = {
    "phintys": {
        "graph.apply": "Apply",
        "graph.errors": "InconsistencyError",
        "graph.function_graph": "FunctionGraph",
        "graph.op": "Op",
        "graph.type": "Type Generic",
        "graph.variable": "Variable Constant",
        "io": "SymbolicInput In Param SymbolicOutput",
        "making.compiled_function": "Function",
        "making.function_maker": "FunctionMaker",
        "modes": "Mode",
        "ops.graphs.op_from_graph": "OpFromGraph",
        "shared": "SharedVariable",
        "updates": "OrderedUpdates",
        "reports.why_not": "why_not",
    },
    "phintys.compile": {
        "debugging.debug_mode": "DebugMode",
        "debugging.monitor_mode": "MonitorMode",
        "debugging.nan_guard_mode": "NanGuardMode",
        "graph.errors": "UnusedInputError AliasedMemoryError",
        "graph.gradients.view_op": "ViewOp",
        "making.supervisor": "Supervisor",
        "ops.graphs.as_op": "FromFunctionOp",
        "ops.identity.deep_copy": "DeepCopyOp",
    },
    "phintys.compile.debugmode": {
        "debugging.debug_errors": """
            DebugModeError BadThunkOutput NondeterministicOp UnwrittenOutput BadOptimization BadDestroyMap BadViewMap
            BadExamined InvalidValueError BadShape BadProgram StochasticOrder""",
        "debugging.debug_mode": "_remade",
    },
    "phintys.compile.monitormode": {
        "debugging.monitor_mode": "WatchingMode",
    },
    "phintys.gpu": {
        "gpu.device_op": "DeviceOp",
        "gpu.gpu_array_type": "GpuArrayType GpuArrayVariable GpuArrayConstant",
        "gpu.runtime.device": "DeviceError",
        "gpu.transfers": "GpuFromHost HostFromGpu GpuConstantValue",
    },
    "phintys.tensor": {
        "graph.errors": "NotScalarConstantError EmptyConstantError",
        "ops.creation.alloc": "Alloc",
        "ops.creation.allocation": "AllocEmpty ARange Eye Tri Bartlett",
        "ops.creation.load_from_disk": "LoadFromDisk",
        "ops.cumulative.convolution": "Convolution",
        "ops.cumulative.cumulative": "CumOp DiffOp",
        "ops.cumulative.product": "Prod ProdWithoutZeros",
        "ops.elementwise.elementwise": "Elemwise",
        "ops.indexing.advanced_subtensor": """
            AdvancedSubtensor1 AdvancedIncSubtensor1 AdvancedSubtensor AdvancedBooleanSubtensor AdvancedIncSubtensor
            AdvancedBooleanIncSubtensor""",
        "ops.indexing.choose": "Choose",
        "ops.indexing.nonzero": "Nonzero",
        "ops.indexing.permutation": "PermuteRowElements",
        "ops.indexing.subtensor": "Subtensor IncSubtensor",
        "ops.linalg.diagonal": "ExtractDiag AllocDiag FillDiagonal FillDiagonalOffset",
        "ops.operators": "TensorVariable TensorConstant",
        "ops.products.dot": "Dot",
        "ops.rearranging.repeat": "RepeatOp Tile",
        "ops.reduction.argmax": "Argmax Argmin MaxAndArgmax",
        "ops.reduction.careduce": "CAReduce All Any Max Min CAReduceDtype Sum",
        "ops.reduction.mean": "Mean",
        "ops.shape.dimshuffle": "DimShuffle",
        "ops.shape.join": "MakeVector Join",
        "ops.shape.reshape": "Reshape",
        "ops.shape.shape": "Shape Shape_i Rebroadcast SpecifyShape",
        "ops.shape.split": "Split",
        "ops.types.constant": "AsTensorError",
        "ops.types.number_views": "TensorFromScalar ScalarFromTensor",
        "ops.types.slice_type": "NoneTypeT SliceConstant SliceType MakeSlice",
        "ops.types.tensor_type": "TensorType values_eq_approx_always_true",
        "shared": "TensorSharedVariable ScalarSharedVariable",
    },
    "phintys.tensor.nnet": {
        "ops.nnet.crossentropy": """
            CrossentropySoftmaxArgmax1HotWithBias CrossentropySoftmax1HotWithBiasDx CrossentropyCategorical1HotGrad
            CrossentropyCategorical1Hot""",
        "ops.nnet.prepend": "Prepend_scalar_constant_to_each_row Prepend_scalar_to_each_row",
        "ops.nnet.softmax": "Softmax LogSoftmax SoftmaxWithBias SoftmaxGrad",
    },
    "phintys.tensor.nnet.abstract_conv": {
        "ops.convolution.convolution": """
            BaseAbstractConv AbstractConv AbstractConv_gradWeights AbstractConv_gradInputs AbstractConv2d
            AbstractConv2d_gradWeights AbstractConv2d_gradInputs AbstractConv3d AbstractConv3d_gradWeights
            AbstractConv3d_gradInputs""",
    },
    "phintys.tensor.nnet.conv": {
        "ops.convolution.old_interface": "ConvOp",
    },
    "phintys.tensor.nnet.conv3d2d": {
        "ops.convolution.movies": "DiagonalSubtensor IncDiagonalSubtensor",
    },
    "phintys.tensor.nnet.corr": {
        "ops.convolution.convolution": "CorrMM CorrMM_gradWeights CorrMM_gradInputs",
    },
    "phintys.tensor.nnet.corr3d": {
        "ops.convolution.convolution": "Corr3dMM Corr3dMM_gradWeights Corr3dMM_gradInputs",
    },
    "phintys.scalar": {
        "ops.elementwise.composite": "Composite",
        "ops.elementwise.scalar": """
            ComplexError IntegerDivisionError LogicalComparison FixedLogicalComparison UnaryBitOp BinaryBitOp
            Cast InRange""",
        "ops.elementwise.scalar_op": "scalar_op_named",
        "ops.elementwise.scalar_preferences": """
            float_out float_out_nocomplex int_out int_out_nocomplex real_out same_out same_out_float_only same_out_min8
            same_out_nobool same_out_nocomplex specific_out transfer_type unary_out_lookup upcast_out upcast_out_min8
            upcast_out_no_complex upcast_out_nobool upgrade_to_float upgrade_to_float64
            upgrade_to_float_no_complex""",
        "ops.elementwise.scalar_protocol": "ScalarOp UnaryScalarOp BinaryScalarOp",
        "ops.elementwise.scalar_variable": "ScalarVariable ScalarConstant",
        "ops.types.scalar_type": "Scalar get_scalar_type",
    },
    "phintys.gof": {
        "graph.destroy_handler": "DestroyHandler",
        "graph.errors": "MethodNotDefined ReplacementDidntRemovedError MissingInputError",
        "graph.op": "PureOp",
        "graph.valueless_types": "NullType DisconnectedType",
    },
    "phintys.gradient": {
        "graph.errors": "DisconnectedInputError NullTypeGradError GradientError",
        "graph.gradients.view_op": "ZeroGrad ConsiderConstant DisconnectedGrad UndefinedGrad GradClip GradScale",
    },
    "phintys.ifelse": {
        "ops.graphs.ifelse": "IfElse",
    },
    "phintys.scan_module": {
        "scan_module.body_results": "until",
    },
    "phintys.scan_module.scan_op": {
        "ops.loops.loop": "Scan",
    },
    "phintys.printing": {
        "ops.identity.print_op": "Print",
    },
    "phintys.compile.function_module": {
        "making.argument_container": "ArgumentContainer",
    },
    "phintys.tensor.blas": {
        "ops.products.batched_product": "BatchedDot",
        "ops.products.blas": "Dot22 Dot22Scalar Gemv Gemm Ger",
    },
    "phintys.tensor.extra_ops": {
        "ops.indexing.flat_index": "UnravelIndex RavelMultiIndex",
        "ops.shape.contiguous": "CpuContiguous",
        "ops.sorting.searching": "SearchsortedOp Unique",
    },
    "phintys.sandbox.linalg.ops": {
        "ops.factorizations.hints": "Hint",
    },
    "phintys.tensor.fft": {
        "ops.fourier.fourier": "RFFTOp IRFFTOp",
    },
    "phintys.tensor.fourier": {
        "ops.fourier.fourier": "Fourier",
    },
    "phintys.tensor.io": {
        "ops.creation.messages": "MPIRecv MPIRecvWait MPISend MPISendWait",
    },
    "phintys.tensor.nlinalg": {
        "ops.factorizations.eigen": "Eig Eigh EighGrad",
        "ops.factorizations.functions": "TensorInv TensorSolve",
        "ops.factorizations.least_squares": "LeastSquares",
        "ops.factorizations.inverse": "MatrixInverse MatrixPinv Det SLogDet",
        "ops.factorizations.orthogonal": "SVD QRFull QRIncomplete",
    },
    "phintys.tensor.slinalg": {
        "ops.factorizations.cholesky": "Cholesky CholeskyGrad",
        "ops.factorizations.eigen": "Eigvalsh EigvalshGrad",
        "ops.factorizations.exponential": "Expm ExpmGrad",
        "ops.factorizations.schur": "GeneralizedSchur Schur SolveSylvester",
        "ops.factorizations.solve": "Solve SolveTriangular",
    },
    "phintys.tensor.raw_random": {
        "ops.random.random_function": "RandomFunction",
        "ops.random.random_state_type": "RandomStateType",
    },
    "phintys.tensor.shared_randomstreams": {
        "shared": "RandomStateSharedVariable RandomVectorSharedVariable",
    },
    "phintys.tensor.nnet.blocksparse": {
        "ops.nnet.block_sparse": "SparseBlockGemv SparseBlockOuter",
    },
    "phintys.tensor.nnet.ctc": {
        "ops.nnet.ctc": "ConnectionistTemporalClassification",
    },
    "phintys.tensor.nnet.neighbours": {
        "ops.pooling.neighbours": "Images2Neibs",
    },
    "phintys.tensor.signal.pool": {
        "ops.pooling.pool": """
            Pool PoolGrad MaxPoolGrad AveragePoolGrad DownsampleFactorMaxGradGrad MaxPoolRop""",
    },
    "phintys.tensor.sort": {
        "ops.sorting.sorting": "SortOp ArgSortOp",
        "ops.sorting.topk": "TopKOp",
    },
    "phintys.tensor.opt": {
        "ops.identity.assertion": "Assert",
    },
    "phintys.tensor.nnet.bn": {
        "ops.nnet.batch_normalization": "AbstractBatchNormTrain AbstractBatchNormTrainGrad AbstractBatchNormInference",
    },
    "phintys.gof.fg": {
        "graph.errors": "AlreadyThere",
    },
    "phintys.gof.type": {
        "graph.type": "SingletonType",
    },
    "phintys.sandbox.multinomial": {
        "ops.random.multinomial": "ChoiceFromUniform MultinomialFromUniform MultinomialWOReplacementFromUniform",
    },
    "phintys.sandbox.rng_mrg": {
        "ops.random.mrg": "DotModulo MrgUniformOfMany mrg_uniform_base mrg_uniform",
    },
    "phintys.sparse": {
        "ops.sparse.arithmetic": "AddSD AddSS AddSSData MulSD MulSS MulSV Neg StructuredAddSV Transpose",
        "ops.sparse.comparison": """
            EqualSD EqualSS GreaterEqualSD GreaterEqualSS GreaterThanSD GreaterThanSS LessEqualSD LessEqualSS LessThanSD
            LessThanSS NotEqualSD NotEqualSS""",
        "ops.sparse.compressed": "CSM CSMGrad CSMProperties",
        "ops.sparse.conversion": "Cast DenseFromSparse SparseFromDense",
        "ops.sparse.indexing": """
            GetItem2d GetItem2dGrad GetItem2Lists GetItem2ListsGrad GetItemList GetItemListGrad GetItemScalar""",
        "ops.sparse.products": """
            Dot SamplingDot StructuredDot StructuredDotGradCSC StructuredDotGradCSR TrueDot Usmm""",
        "ops.sparse.reduction": "ColScaleCSC RowScaleCSC SpSum",
        "ops.sparse.sparse_type": "SparseType",
        "ops.sparse.structure": """
            ConstructSparseFromList Diag EnsureSortedIndices HStack Remove0 SquareDiagonal VStack""",
        "ops.sparse.variables": "SparseConstant SparseVariable",
        "sparse.sharedvar": "SparseTensorSharedVariable",
    },
    "phintys.sparse.sandbox.sp2": {
        "ops.sparse.draws": "Binomial Multinomial Poisson",
    },
    "phintys.typed_list": {
        "ops.lists.typed_list_type": "TypedListType",
        "ops.lists.typed_lists": """
            TypedListVariable TypedListConstant GetItem Append Extend Insert Remove Reverse Index Count Length
            MakeList""",
    },
    "phintys.pickled": {
        "debugging.stepwise": "Stepwise",
        "graph.config": "options_of_process",
        "graph.scratchpad": "Scratchpad",
        "graph.serialization": "Bundle _bare_node _bare_variable _output",
        "graph.trace": "GradientTrace Traces",
        "making.function_copies": "remake remade_once",
        "ops.creation.optional_argument": "OptionalType",
        "ops.convolution.convolution": "GradientOp",
        "ops.convolution.fused_convolution": "FusedConvolution",
        "ops.convolution.pooled_convolution": "PooledConvolution",
        "ops.creation.alloc": "SumStretched",
        "ops.elementwise.elementwise": "_rebuilt",
        "ops.elementwise.first_dtype": "FirstDtype in_first_dtype",
        "ops.elementwise.impl_elementwise": "ImplElemwise",
        "ops.elementwise.scalar_op": "LoopedScalarOp",
        "ops.factorizations.eigen": "GeneralizedEigh",
        "ops.factorizations.factor_gradient": "CholeskyInverse Mirrored SquareOp",
        "ops.factorizations.inverse": "FactoredDeterminant Adjugate",
        "ops.factorizations.permutation": "PivotsToPermutation",
        "ops.factorizations.schur": "Stacked",
        "ops.factorizations.solve": "System LUFactor LUSolve",
        "ops.factorizations.stacks": "MatrixOp TwiceReversed",
        "ops.fourier.fourier": "FourierAlong",
        "ops.fourier.parts": "ComplexParts",
        "ops.fourier.transform": "FourierTransform",
        "ops.graphs.inner_graph": "InnerGraphOp",
        "ops.graphs.op_from_graph": "_Derivative",
        "ops.lists.typed_lists": "_ListOp _Change _Search TypedListOperators",
        "ops.loops.before_loops": "OnlyWithSteps",
        "ops.loops.first_rows": "EnoughRows FirstRows StepCount",
        "ops.loops.loop": "LoopOptions",
        "ops.loops.parts": "Groups LoopParts",
        "ops.loops.with_initial": "WithInitial",
        "ops.identity.assertion": "Check",
        "ops.identity.equal_lengths": "EqualLengths",
        "ops.indexing.advanced_index": "AdvancedIndexing",
        "ops.indexing.subtensor": "Indexing",
        "ops.linalg.diagonal": "Diagonal SetDiagonal",
        "ops.linalg.triangle": "Triangle",
        "ops.nnet.batch_normalization": "BatchNormalizationOp",
        "ops.nnet.block_sparse": "BlockSparseOp",
        "ops.nnet.native_batch_normalization": "NormalizationOp BatchNormTrain BatchNormInference BatchNormTrainGrad",
        "ops.nnet.softmax": "RowOp",
        "ops.operators": "TensorConstantSignature",
        "ops.pooling.pool": "PoolingOp",
        "ops.products.blas": "BlasOp Accumulation",
        "ops.rearranging.repeat": "SumRepeats",
        "ops.random.draw": "Draw",
        "ops.random.drawn_elemwise": "DrawnElemwise",
        "ops.random.generator_call": "GeneratorCall",
        "ops.random.generator_order": "GeneratorOrder",
        "ops.random.mrg_normal": "MrgNormal WithFirstRows",
        "ops.random.sampling": "Sampling",
        "ops.random.random_function": "VectorRandomFunction SeededState",
        "ops.reduction.careduce": "Extremum MaxOrLowest",
        "ops.reduction.fused_reduction": "FusedReduction",
        "ops.linalg.polynomial": "Horner PowerSums",
        "ops.sparse.arithmetic": "_OfTwo",
        "ops.sparse.comparison": "_Comparison _OfSparse _WithDense",
        "ops.sparse.draws": "_Draw",
        "ops.sparse.indexing": "_Part _Put",
        "ops.sparse.products": "_StructuredDotGrad",
        "ops.sparse.reduction": "_Scale",
        "ops.sparse.sparse_op": "SparseOp BilinearOp",
        "ops.sparse.structure": "_SameValue",
        "ops.sparse.variables": "SparseOperators",
        "ops.sorting.partitioning": "_Partition PartitionOp ArgPartitionOp",
        "ops.sorting.row_order": "RowOrder",
        "ops.sorting.searching": "RunStarts",
        "ops.sorting.sorting": "_AlongAxis",
        "ops.types.number_views": "NumberView",
        "ops.types.slice_type": "SliceParts",
        "optimizer.engine.database": "Query",
        "vm.containers.container": "restored",
    },
}

_HOME_OF = {(f"phintys.{inner}", name): home
            for home, modules in HOMES.items() for inner, names in modules.items() for name in names.split()}
_DEFINED_IN = {(home, name): inner for (inner, name), home in _HOME_OF.items()}


def at_home(thing: Named) -> Named:
    """Set ``__module__`` of a new class or function to its public module, if it has one, and return it."""
    home = _HOME_OF.get((thing.__module__, thing.__qualname__))
    if home is not None:
        thing.__module__ = home
    return thing


def adopt(namespace: dict[str, Any]) -> None:
    """Declare a module, whose ``globals()`` are given, the public module of the functions that it exports.

    ``dir`` of a module with ``__all__`` shows these names only.
    """
    home = namespace["__name__"]
    if "__all__" in namespace:
        namespace.setdefault("__dir__", lambda: list(namespace["__all__"]))
    for name in list(namespace.get("__all__", namespace)):
        value = namespace.get(name)
        if type(value) is FunctionType and value.__qualname__ == name and value.__module__.startswith(INNER):
            _DEFINED_IN[home, name] = value.__module__
            value.__module__ = home


def defined_in(thing: Any) -> Any:
    """Return the name of the module that defines a class or function, or the class of any other object."""
    name = getattr(thing, "__qualname__", type(thing).__qualname__)
    return _DEFINED_IN.get((thing.__module__, name), thing.__module__)
