"""Every class of ops of the PyTensor, PyMC, pymc-extras and Bambi that are installed has a row, or a reason for none.

And the table of op classes says what is there: the modules, the properties, and the versions.
"""
import importlib
import pkgutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pytensor_reference")

from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor_reference import pytensor

from phintys.interop.pytensor import PyTensorFallbackWarning, fallback, op_table, random_rows, translation
from phintys.interop.pytensor_versions import version_of

pt = pytensor.tensor
pytestmark = [pytest.mark.filterwarnings("ignore")]
VERSION = version_of(pytensor.__version__)
PACKAGES = ("pytensor", "pymc", "pymc_extras", "bambi")
SKIPPED = {"tests", "link", "ipython", "bin", "misc", "testing", "printing_tools", "jax"}    # no ops of their own
GUIDE = Path(__file__).parents[3] / "docs" / "pymc.md"

# What PyTensor's Python code runs; docs/pymc.md names them, those of random variables without RV.
BY_PYTHON = """SparseBlockDiagonal
    DifferentialEquation PosDefMatrix PolyaGamma FromFunctionOp JAXOp PdbBreakpoint Default
    DefaultGeneratorMakerOp""".split()
RANDOM_BY_PYTHON = """CustomDistRV SimulatorRV PolyaGammaRV FlatRV HalfFlatRV ICARRV""".split()
OTHER_NAMES = {"_PolyaGammaLogDistFunc": "PolyaGamma"}
NEVER_RUN = {
    "base classes": """AbstractRNGConstructor BaseBLAS BaseBlockDiagonal BinaryBitOp BinaryScalarOp COp ExternalCOp
        FixedLogicalComparison GemmRelated LogicalComparison MaxAndMinCAReduce NonZeroDimsCAReduce OpenMPOp
        RNGConsumerOp ScalarInnerGraphOp ScalarOp ScipyRandomVariable ScipyScalarWrapperOp ScipyVectorWrapperOp
        ScipyWrapperOp SolveBase Stack UnaryBitOp UnaryScalarOp XOp _NoPythonCOp _NoPythonExternalCOp _NoPythonOp
        __ComparisonOpSD __ComparisonOpSS __ComparisonOpSparseDense __ComparisonOpSparseSparse""",
    "put in place of other ops by PyTensor's rewrites for its C compiler": """AddSD_ccode AddSparseDenseC CSMGradC
        MulSDCSC MulSDCSR MulSVCSR SamplingDotCSR StructuredAddSVCSR StructuredAddSparseDenseVectorCSR
        StructuredDotCSC StructuredDotCSR UsmmCscDense""",
    "removed by PyMC before anything is compiled": """DiracDelta MinibatchRandomVariable MixtureRV ModelAnchor
        ModelDeterministic ModelFreeRV ModelNamed ModelObservedRV ModelPotential ModelValuedVar ModelVar
        PromisedValuedRV TransformedValue TransformedValueRV ValuedRV""",
    "removed by pymc-extras, from 0.15": """AbstractDeferredMarginalSubgraph DeferredLaplaceMarginalSubgraph
        DeferredMarginalSubgraph LaplaceMarginalSubgraph MarginalSubgraph MarginalSubgraphBase""",
    "an end of a graph": "Output JAXShapeTuple",
    "with named dimensions: PyTensor makes ordinary ones of them first": """Broadcast Concat Dot ExpandDims Index
        IndexUpdate Squeeze Transpose UnStack XBlockwise XCumReduce XElemwise XRV XReduce""",
}
NEVER_RUN_NAMES = {name for names in NEVER_RUN.values() for name in names.split()}


@pytest.fixture(scope="module")
def op_classes():
    """All classes of ops of the packages, by importing their modules; without what needs a library that is missing."""
    for package in PACKAGES:
        try:
            _import_all(importlib.import_module(package))
        except ImportError:
            continue
    for load in translation.late_rows.values():
        load()
    found, pending = set(), [Op]
    while pending:
        for kind in pending.pop().__subclasses__():
            if kind not in found:
                found.add(kind)
                pending.append(kind)
    return sorted([kind for kind in found if kind.__module__.partition(".")[0] in PACKAGES
                   and getattr(sys.modules.get(kind.__module__), kind.__name__, kind) is kind], key=str)


def _import_all(package):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if module.name.rpartition(".")[2] in SKIPPED:
            continue
        try:
            found = importlib.import_module(module.name)
        except Exception:                                           # a library or a compiler is missing
            continue
        if module.ispkg:
            _import_all(found)


def has_row(kind):
    base, line = op_table.line_of(kind)
    if line is None or line.name not in translation.ROWS:
        return False
    if line.name == "random.RandomVariable" and kind is not base:
        return random_rows._row_of(kind) is not None
    return any([set(form.properties) == set(getattr(base, "__props__", None) or ()) for form in line.forms])


def test_every_class_has_a_row_or_a_reason_for_none(op_classes):
    assert len(op_classes) > 350
    guide = GUIDE.read_text()
    without = [kind for kind in op_classes if not has_row(kind) and kind.__name__ not in NEVER_RUN_NAMES]
    names = {OTHER_NAMES.get(kind.__name__, kind.__name__) for kind in without}
    assert names - {*BY_PYTHON, *RANDOM_BY_PYTHON} == set()
    assert [name for name in BY_PYTHON if f"`{name}`" not in guide] == []
    assert [name for name in RANDOM_BY_PYTHON if f"`{name.removesuffix('RV')}`" not in guide] == []


def test_every_line_of_the_table_is_what_this_version_has(op_classes):
    """A form that says it is in this version is the form of a class that is; others are of none."""
    wrong = []
    present = {(kind.__module__.removeprefix("pytensor."), kind.__name__): kind for kind in op_classes}
    for name, forms in {line.name: line.forms for line in op_table.LINES.values()}.items():
        kinds = [present[key] for key, line in op_table.LINES.items() if line.name == name and key in present]
        here = [form for form in forms if form.first <= VERSION <= form.last]
        if name.startswith("pymc."):
            continue                                                # of PyMC's versions
        found = {frozenset(getattr(kind, "__props__", None) or ()) for kind in kinds}
        if found != {frozenset(form.properties) for form in here}:
            wrong.append((name, found, here))
    assert wrong == []


# ---- ops of forms that are not known --------------------------------------------------------------------------------
class Doubled(Op):
    """An op of a name in the table."""

    __props__ = ()

    def make_node(self, *inputs):
        return Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = 2 * inputs[0]


def named_as(name, module, properties=()):
    return type(name, (Doubled,), {"__module__": module, "__props__": properties, "perform": Doubled.perform})


@pytest.mark.parametrize("properties, count", [((), 3), (("driver",), 2), (("mode", "axis"), 2)])
def test_an_op_of_another_form_is_run_by_pytensor(properties, count):
    """As a newer version may have: another number of inputs, or properties that no version tested has."""
    x = pt.dvector("x")
    kind = named_as("Dot", "pytensor.tensor.math", properties)
    for name in properties:
        setattr(kind, name, None)
    fallback._named.discard("Dot")
    with pytest.warns(PyTensorFallbackWarning, match="Dot"):
        f = pytensor.function([x], kind()(*[x] * count), mode="PHINTYS")
    np.testing.assert_array_equal(f(np.arange(3.0)), [0.0, 2.0, 4.0])


def test_a_class_of_another_module_has_no_row():
    x = pt.dvector("x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = pytensor.function([x], named_as("Dot", "elsewhere.math")()(x, x), mode="PHINTYS")
    np.testing.assert_array_equal(f(np.arange(3.0)), [0.0, 2.0, 4.0])


def test_a_class_that_computes_otherwise_has_no_row_of_its_base():
    """One that only says the same in another way has it."""
    x = pt.dmatrix("x")

    class Twice(pytensor.tensor.math.Dot):
        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = np.asarray(2 * np.dot(*inputs))

    class Named(pytensor.tensor.math.Dot):
        pass

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = pytensor.function([x], [Twice()(x, x), Named()(x, x)], mode="PHINTYS")
    assert [value.tolist() for value in f(np.eye(1) + 1)] == [[[8.0]], [[4.0]]]
