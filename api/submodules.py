"""Submodules that are modules of another place: ``from phintys.gof.op import Op`` finds ``phintys.graph.op``.

Theano's packages are cut differently from ours. A namespace that bears Theano's name says in a table which module
stands for which submodule; there is one module object, reached by two names. Nothing is copied.
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
        Name of a submodule → full name of the module that it is.

    Returns
    -------
    dict
        Name → module, to be made attributes of the package where no function has that name.
    """
    modules = {name: import_module(target) for name, target in table.items()}
    sys.modules.update({f"{package}.{name}": module for name, module in modules.items()})
    return modules
