"""``misc.pkl_utils``: zip files of arrays and a pickle, pickles without notes, pickles of Python 2."""
import io
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.misc.pkl_utils import (
    CompatUnpickler,
    PersistentNdarrayID,
    PersistentSharedVariableID,
    StripPickler,
    dump,
    load,
)


def written(thing, **options):
    file = io.BytesIO()
    dump(thing, file, **options)
    file.seek(0)
    return file


def test_values_of_shared_variables_bear_their_names():
    first, second, unnamed = [phintys.shared(numpy.arange(3.0) + number, name) for number, name in enumerate(
        ("weights", "weights", None))]
    array = numpy.ones(2)
    file = written({"model": [first, second, unnamed, first * second], "data": (array, array)})
    with numpy.load(file) as arrays:
        assert sorted(arrays) == ["array_0", "array_1", "pkl", "weights", "weights_2"]
        assert numpy.array_equal(arrays["weights_2"], [1, 2, 3])
    file.seek(0)
    read = load(file)
    assert [variable.get_value()[0] for variable in read["model"][:3]] == [0, 1, 2]
    assert read["model"][3].owner.inputs[:2] == read["model"][:2] and read["data"][0] is read["data"][1]
    assert numpy.array_equal(read["model"][3].eval(), [0, 2, 6])


def test_arrays_are_numbered():
    things = [phintys.shared(numpy.zeros(2), "x"), numpy.array([{}], object), numpy.arange(3)]
    with numpy.load(written(things, persistent_id=PersistentNdarrayID)) as arrays:
        assert sorted(arrays) == ["array_0", "array_1", "pkl"]


@pytest.mark.parametrize("names, options, message", [
    (("x", "x"), {"allow_duplicates": False}, "multiple shared variables with the name 'x'"),
    ((None,), {"allow_unnamed": False}, "unnamed shared variable"), (("pkl",), {}, "called 'pkl'")])
def test_refused_names(names, options, message):
    variables = [phintys.shared(float(number), name) for number, name in enumerate(names)]
    with pytest.raises(ValueError, match=message):
        written(variables, persistent_id=lambda zip_file: PersistentSharedVariableID(zip_file, **options))


def test_pickles_without_notes():
    x = T.dvector("x")
    x.tag.test_value, x.tag.mine, x.tag.kept = numpy.zeros(2), "note", 1
    file = io.BytesIO()
    StripPickler(file, -1, extra_tag_to_remove=["mine"]).dump([x, x * 2])
    read, twice = pickle.loads(file.getvalue())
    assert vars(read.tag) == {"kept": 1} and twice.owner.inputs[0] is read
    assert x.tag.mine == "note" and numpy.array_equal(x.tag.test_value, [0, 0])


def test_arrays_of_python_2():
    """A pickle of protocol 2 whose strings are bytes, as Python 2 wrote ``numpy.array([1.0])``."""
    text = (b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85U\x01b\x87Rq\x02(K\x01"
            b"K\x01\x85cnumpy\ndtype\nq\x03U\x02f8K\x00K\x01\x87Rq\x04(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
            b"K\x00tb\x89U\x08\x00\x00\x00\x00\x00\x00\xf0?tb.")
    assert CompatUnpickler(io.BytesIO(text)).load() == [1.0]


def made_by_python_2(module, name):
    return f"ccopy_reg\n_reconstructor\n(c{module}\n{name}\nc__builtin__\nobject\nNtR.".encode()


def test_a_shared_variable_of_theano_is_refused():
    read = CompatUnpickler(io.BytesIO(made_by_python_2("phintys.graph.scratchpad", "Scratchpad"))).load()
    assert type(read).__name__ == "Scratchpad"
    with pytest.raises(pickle.UnpicklingError, match="save the values of shared variables"):
        CompatUnpickler(io.BytesIO(made_by_python_2("phintys.vm.containers.container", "Container"))).load()
