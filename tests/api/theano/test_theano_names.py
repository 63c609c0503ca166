"""Every name that Theano's modules for dense tensors have is here, or an error says what to use instead.

``names_of_theano.txt`` lists the names, without an underscore, of Theano 1.0.5's own functions, classes and values.
"""
import importlib
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import theano_names

NAMES = {}
for line in (Path(__file__).parent / "names_of_theano.txt").read_text().splitlines():
    if line.endswith(":"):
        names = NAMES.setdefault(f"phintys.{line[:-1]}", [])
    else:
        names.extend(line.split())


@pytest.mark.filterwarnings("ignore:phintys.sandbox.fourier")
@pytest.mark.parametrize("module", [*NAMES])
def test_names(module):
    namespace = importlib.import_module(module)
    silent = []
    for name in NAMES[module]:
        try:
            getattr(namespace, name)
        except AttributeError as error:
            if f"has no attribute {name!r}: " not in str(error):
                silent.append(name)
    assert not silent


@pytest.mark.filterwarnings("ignore:phintys.sandbox.fourier has the names:DeprecationWarning")
def test_tables():
    for module, places in theano_names.ELSEWHERE.items():
        namespace = importlib.import_module(module)
        for place, names in places.items():
            for name in names.split():
                assert getattr(namespace, name) is getattr(importlib.import_module(place), name)
                assert name not in vars(namespace), "it is there without the table"
    for module, reasons in theano_names.INSTEAD.items():
        namespace = importlib.import_module(module)
        for reason, names in reasons.items():
            for name in names.split():
                with pytest.raises(AttributeError) as caught:
                    getattr(namespace, name)
                assert reason in str(caught.value)
    assert T.basic.key_to_cmp(abs)(-2, 1) == 1 and T.basic.hashtype(1) == T.basic.hashtype(2)
    with pytest.raises(AttributeError, match="attribute 'nonsense'$"):
        T.slinalg.nonsense


# ---- what the names do -----------------------------------------------------------------------------------------------
def test_default():
    x, y = T.scalars("x", "y")
    f = phintys.function([x, y], T.default(x, y))
    assert (f(1, 2), f(None, 2), f(1, None)) == (1, 2, 1)
    with pytest.raises(TypeError, match="both arguments are None"):
        f(None, None)
    a, b = T.lmatrices("a", "b")
    g = phintys.function([a, b], T.basic.default(a, b))
    assert g(None, [[1, 2]]).tolist() == [[1, 2]] and g([[3]], [[1, 2]]).tolist() == [[3]]
    with pytest.raises(TypeError, match="same type"):
        T.default(x, a)
    with pytest.raises(TypeError):
        phintys.function([x], x + 1)(None)


def test_flatten():
    x = T.dtensor3()
    with pytest.warns(DeprecationWarning, match="use the function flatten"):
        op = T.Flatten(2)
    assert phintys.function([x], op(x))(numpy.ones((2, 3, 4))).shape == (2, 12)


def test_products_without_zeros():
    x, y = T.dvectors("x", "y")
    product = T.elemwise.Elemwise(T.elemwise.mul_without_zeros)
    assert phintys.function([x, y], product(x, y))([0.0, 2, 3, 0], [5.0, 0, 2, 0]).tolist() == [5, 2, 6, 0]


def test_values_and_axes():
    x = T.dtensor3()
    assert T.basic.check_and_normalize_axes(x, None) == [] and T.basic.check_and_normalize_axes(x, (-1, 0)) == [0, 2]
    assert T.basic.check_and_normalize_axes(x, T.constant(1)) == [1]
    for axis, kind in ((3, ValueError), (T.iscalar(), TypeError), ("one", TypeError)):
        with pytest.raises(kind, match="needs|out of bounds|an axis is an integer"):
            T.basic.check_and_normalize_axes(x, axis)
    assert T.basic.makeKeepDims(x, x.sum(axis=(0, -1)), (0, -1)).type.broadcastable == (True, False, True)
    lengths, known = T.basic.alloc_validate_shape([1, T.iscalar()])
    assert known == [True, False] and lengths[0].type.dtype == "int8"
    for shape in ([1.5], [T.ivector()]):
        with pytest.raises(TypeError):
            T.basic.alloc_validate_shape(shape)
    assert T.basic.check_equal_numpy(numpy.ones(2), numpy.ones(2)) and not T.basic.check_equal_numpy(
        numpy.ones(2), numpy.ones(2, "float32"))
    states = [numpy.random.RandomState(seed) for seed in (1, 1, 2)]
    assert T.basic.check_equal_numpy(*states[:2]) and not T.basic.check_equal_numpy(*states[1:])
    assert T.basic.check_equal_numpy("a", "a")
    assert T.basic.numpy_scalar(numpy.array([2.0])) == 2
    for data, kind in ((numpy.ones(0), T.basic.EmptyConstantError), (numpy.ones(2), T.basic.NotScalarConstantError)):
        with pytest.raises(kind):
            T.basic.numpy_scalar(data)
    assert T.basic.constructor(len) is len


def test_casts():
    scalar = phintys.scalar
    assert scalar.autocast_int(3).dtype == "int8" and scalar.autocast_int(300).dtype == "int16"
    assert scalar.autocast_int(numpy.asarray(3, "int32")).dtype == "int32"
    assert scalar.NumpyAutocaster(("float32", "float64"))(0.1).dtype == "float64"
    assert scalar.convert(3, "float32").dtype == "float32"
    assert T.Elemwise(scalar.Cast(scalar.Scalar("complex128")))(T.cvector()).dtype == "complex128"
    assert [scalar.basic.round_half_away_from_zero_(a) for a in (0.5, -0.5, 1.4)] == [1, -1, 1]


def test_indices():
    subtensor, x, i = T.subtensor, T.dmatrix("x"), T.lscalar("i")
    node = x[i:, 2].owner
    filled = subtensor.get_idx_list(node.inputs, node.op.idx_list)
    assert filled[0].start is i and filled[1] == 2
    assert subtensor.get_idx_list(node.inputs, node.op.idx_list, get_count=True) == 1
    assert isinstance(subtensor.as_index_variable(None).type, T.type_other.NoneTypeT)
    assert isinstance(subtensor.as_index_variable(slice(1, 2)).type, T.type_other.SliceType)
    assert subtensor.as_index_variable([0, 1]).type.dtype == "int64" and T.as_int_none_variable(2).type.ndim == 0
    assert T.as_int_none_variable(None) is T.NoneConst
    for function in (subtensor.as_index_variable, T.as_int_none_variable):
        with pytest.raises(TypeError, match="must be integers"):
            function(1.5)
    assert subtensor.adv_index_broadcastable_pattern(T.drow(), [slice(None), [0, 1]]) == (True, False)
    subtensor.check_advanced_indexing_dimensions(numpy.ones((2, 3)), [None, 0, numpy.ones(3, bool)])
    with pytest.raises(IndexError, match="along dimension 0; dimension is 2"):
        subtensor.check_advanced_indexing_dimensions(numpy.ones((2, 3)), [numpy.ones(3, bool)])
    subtensor.check_and_reject_bool([1, numpy.arange(2), (x,)])
    for mask in (True, [0, [numpy.ones(2, bool)]], T.bvector() > 0):
        with pytest.raises(TypeError, match="masks"):
            subtensor.check_and_reject_bool(mask)
    constants = subtensor.make_constant((1, slice(2, None), None, x))
    assert constants[0].data == 1 and constants[1].start.data == 2 and constants[2] is None and constants[3] is x


def test_frozen_dictionaries_and_ordered_sets():
    from phintys.misc.frozendict import FrozenOrderedDict, frozendict
    from phintys.misc.ordered_set import OrderedSet
    frozen = frozendict(a=1, b=2)
    assert hash(frozen) == hash(frozendict(b=2, a=1)) and frozen.copy(a=3)["a"] == 3 and len(frozen) == 2
    assert list(FrozenOrderedDict([("z", 1), ("a", 2)])) == ["z", "a"] and "z" in repr(FrozenOrderedDict(z=1))
    with pytest.raises(TypeError):
        frozen["a"] = 2
    ordered = OrderedSet([3, 1, 3])
    ordered.add(2)
    assert list(ordered) == [3, 1, 2] and list(reversed(ordered)) == [2, 1, 3] and ordered.pop(last=False) == 3
    assert list(ordered.union([7, 1])) == [1, 2, 7] and list(ordered.copy().difference_update([1])) == [2]
    assert list(ordered.copy().intersection_update([1])) == [1] and ordered == OrderedSet([1, 2])
    assert repr(ordered) == "OrderedSet([1, 2])" and repr(OrderedSet()) == "OrderedSet()"
    with pytest.raises(AssertionError, match="fixed order"):
        OrderedSet({1, 2})
    with pytest.raises(TypeError, match="cannot be compared"):
        assert ordered == {1, 2}
    with pytest.raises(KeyError):
        OrderedSet().pop()


def test_small_modules_of_misc(tmp_path):
    from phintys.misc import cpucount, pkl_utils, safe_asarray, strutil, windows
    assert cpucount.cpuCount() > 0 and safe_asarray._asarray([1], "float32").dtype == "float32"
    assert strutil.render_string("%(a)s", {"a": 1}) == "1" and strutil.pretty_format("{\n x\n}") == "{\n    x\n}"
    with pytest.raises(ValueError, match="a %\\(b\\)<<<< caused exception"):
        strutil.render_string("a %(b)s and more", {})
    program = [sys.executable, "-c", "print(input('')) if 0 else print(1)"]
    assert windows.output_subprocess_Popen(program)[0].strip() == b"1"
    assert windows.call_subprocess_Popen(program) == 0
    for function in (windows.output_subprocess_Popen, windows.call_subprocess_Popen):
        with pytest.raises(TypeError, match="stdout"):
            function(program, stdout=subprocess.PIPE)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        pkl_utils.zipadd(lambda file: file.write(b"text"), archive, "name")
    assert zipfile.ZipFile(tmp_path / "a.zip").read("name") == b"text"


@pytest.mark.filterwarnings("ignore:phintys.sandbox.fourier")
def test_transforms_of_the_sandbox():
    from phintys.sandbox import fourier
    x, value = T.dmatrix(), numpy.random.default_rng(0).normal(size=(4, 6))
    f = phintys.function([x], [fourier.fft(x, 6, 1), fourier.half_fft(x, 4, 0), fourier.ifft(x, 5, 1),
                               fourier.half_ifft(x, 6, 1)])
    wanted = [numpy.fft.fft(value), numpy.fft.fft(value, 4, 0)[:2], numpy.fft.ifft(value, 5),
              numpy.fft.ifft(value, 6)[:, :3]]
    for found, expected in zip(f(value), wanted):
        numpy.testing.assert_allclose(found, expected)
    with pytest.raises(TypeError, match="must not be complex"):
        fourier.half_fft(T.zmatrix(), 4, 0)
    with pytest.raises(AssertionError, match="odd-length"):
        phintys.function([x], fourier.half_fft(x, 5, 1))(value)
    matrix = fourier.dct_matrix(4, 4)
    numpy.testing.assert_allclose(matrix @ matrix.T, numpy.eye(4), atol=1e-15)


def test_printers():
    x = T.dmatrix("x")
    from phintys.printing import PPrinter
    printer = PPrinter()
    printer.assign(lambda state, r: r.owner is not None and isinstance(r.owner.op, T.Subtensor),
                   T.subtensor.SubtensorPrinter())
    printer.assign(lambda state, r: r.owner is not None and isinstance(r.owner.op, T.DimShuffle),
                   T.elemwise.DimShufflePrinter())
    assert printer.process(x[1:, 2]) == "x[Constant{1}:, Constant{2}]"
    assert printer.process(x.T) == "x.T" and printer.process(x.dimshuffle("x", 0, 1)) == "x"
    assert printer.process(x.dimshuffle(1, "x", 0)) == "DimShuffle{1, x, 0}(x)"
