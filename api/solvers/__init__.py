"""Solvers with derivatives: roots, fixed points, minima, differential equations and integrals.

Each takes a Python function of variables that makes a graph, and returns variables. The steps are loops of the compiled
function, without Python; derivatives, of all orders, are those of the solution, and not of the steps.
"""
from phintys.graph import public_names as _public_names
from phintys.solvers.differential_equations import odeint
from phintys.solvers.integrals import Integral, quad
from phintys.solvers.solutions import Solution, fixed_point, minimize, root, root_scalar

__all__ = ["Integral", "Solution", "fixed_point", "minimize", "odeint", "quad", "root", "root_scalar"]
_public_names.adopt(globals())
