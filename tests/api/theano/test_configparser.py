"""Options that programs add to ``config``."""
import pytest

import phintys.configparser as configparser
from phintys.configparser import AddConfigVar, BoolParam, ConfigParam, EnumStr, FloatParam, IntParam, StrParam
from phintys.graph.config import OPTIONS, Config, change_flags, config, config_doc


@pytest.fixture
def options():
    return Config(OPTIONS)


@pytest.mark.parametrize("param, value, stored, refused", [
    (IntParam(3), "4", 4, "four"), (FloatParam(0.5), "1e-3", 0.001, "x"), (StrParam("a", str.islower), "b", "b", "B"),
    (BoolParam(True), "False", False, "no"), (EnumStr("red", "blue", convert=str.lower), "BLUE", "blue", "green"),
    (ConfigParam(lambda: 7, lambda value: value + 1), 8, 9, None), (ConfigParam("anything"), [1], [1], None)])
def test_kinds(options, param, value, stored, refused):
    AddConfigVar("mine.option", "What it does.", param, root=options)
    default = options.mine.option
    assert default == param.first_value()
    options.mine.option = value
    assert options.mine.option == options.get("mine.option") == stored
    if refused is not None:
        with pytest.raises(ValueError, match="config.mine.option cannot be"):
            options.mine.option = refused
        assert options.mine.option == stored


def test_an_option_that_cannot_be_changed(options):
    AddConfigVar("fixed", "", IntParam(1, allow_override=False), root=options)
    with pytest.raises(ValueError, match="cannot be changed"):
        options.fixed = 2
    assert options.fixed == 1


@pytest.mark.parametrize("name, param, error", [
    ("floatX", IntParam(1), AttributeError), ("blas", IntParam(1), AttributeError),
    ("get", IntParam(1), AttributeError), ("floatX.more", IntParam(1), TypeError),
    ("mine.even", IntParam(3, lambda value: value % 2 == 0), ValueError)])
def test_refused(options, name, param, error):
    with pytest.raises(error):
        AddConfigVar(name, "", param, root=options)


def test_words_are_strings():
    with pytest.raises(ValueError, match="should be strings"):
        EnumStr("a", 3)


@pytest.fixture
def added():
    AddConfigVar("a_test.depth", "How deep.", IntParam(3))
    yield
    del config._options["a_test.depth"], config.__dict__["a_test"]


def test_options_are_options(added):
    with change_flags({"a_test.depth": 5}):
        assert config.a_test.depth == 5
    assert config.a_test.depth == 3 and "a_test.depth = 3: How deep." in config_doc()
    assert configparser.config is config
