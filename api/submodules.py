"""Makes existing modules importable as submodules: ``from phintys.gof.op import Op`` finds ``phintys.graph.op``.

Theano's packages are divided differently. A namespace with one of Theano's names has a table that maps each submodule
to a module; there is one module object with two names, and nothing is copied.
"""
import sys
from importlib import import_module


def submodules(package, table):
    """Make modules importable as submodules of ``package``.

    Parameters
    ----------
    package : str
        Full name of the module that the submodules belong to.
    table : dict
        Name of a submodule → full name of the module.

    Returns
    -------
    dict
        Name → module; they become attributes of the package unless it has a function of that name.
    """
    modules = {name: import_module(target) for name, target in table.items()}
    sys.modules.update({f"{package}.{name}": module for name, module in modules.items()})
    return modules
