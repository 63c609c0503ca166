"""What ``dir`` shows of namespaces and functions: their public names, and nothing that was only imported."""
import importlib
from types import ModuleType

import pytest

import phintys
import phintys.tensor as T

NAMESPACES = ["phintys", "phintys.tensor", "phintys.tensor.nnet", "phintys.tensor.linalg", "phintys.gradient",
              "phintys.printing", "phintys.scalar", "phintys.ifelse", "phintys.compile", "phintys.gof",
              "phintys.memory", "phintys.function", "phintys.shared", "phintys.modes", "phintys.io",
              "phintys.updates", "phintys.configdefaults"]
# Modules that only have names of functions that are defined elsewhere.
FAMILIES = ["phintys.gradient", "phintys.ifelse", "phintys.random", "phintys.scan_module", "phintys.sandbox.rng_mrg",
            "phintys.tensor.extra_ops", "phintys.tensor.fft", "phintys.tensor.nlinalg", "phintys.tensor.nnet.bn",
            "phintys.tensor.nnet.abstract_conv", "phintys.tensor.raw_random", "phintys.tensor.signal.pool",
            "phintys.tensor.slinalg"]


def module(name):
    """The module of that name, though `phintys.function` is a function, too."""
    return importlib.import_module(name)


@pytest.mark.parametrize("name", sorted({*NAMESPACES, *FAMILIES}))
def test_public_names_are_there(name):
    public = module(name).__all__
    assert len(set(public)) == len(public)
    assert [missing for missing in public if not hasattr(module(name), missing)] == []


@pytest.mark.parametrize("namespace", [phintys, T], ids=["phintys", "tensor"])
def test_dir_shows_what_is_public(namespace):
    assert dir(namespace) == sorted(namespace.__all__)
    assert [name for name in dir(namespace) if name.startswith("_")] == []


@pytest.mark.parametrize("name", FAMILIES)
def test_dir_of_a_family_shows_what_is_public(name):
    assert dir(module(name)) == sorted(module(name).__all__)


@pytest.mark.parametrize("namespace", [phintys, T], ids=["phintys", "tensor"])
def test_dir_shows_no_module_of_others(namespace):
    modules = [value for value in [getattr(namespace, name) for name in dir(namespace)]
               if isinstance(value, ModuleType)]
    assert [value.__name__ for value in modules if not value.__name__.startswith("phintys.")] == []


@pytest.mark.parametrize("namespace", [phintys, T], ids=["phintys", "tensor"])
def test_every_name_without_underscore_is_public(namespace):
    """A function, class or op that is not in ``__all__``, or a tool whose name should start with an underscore."""
    imported = {name for name, value in vars(namespace).items()
                if not name.startswith("_") and not isinstance(value, ModuleType)}
    assert imported - set(namespace.__all__) == set()


def test_dir_of_a_function_shows_what_is_for_users():
    x = T.dvector("x")
    shown = dir(phintys.function([x], x + 1))
    assert {"copy", "explain", "free", "maker", "memory_report", "name", "profile", "trust_input"} <= set(shown)
    assert {"call", "evaluate", "refuse_keyword", "__class__", "_fn"}.isdisjoint(shown)
