"""The names that patterns are written with: holes x, y, z, c, and a function for each elementwise op.

Such a function has the name of its op in the table (``ops/elementwise/scalar.py``), or one of ``OTHER_NAMES``. Modules
of rewrites import from here what they need; to import a name that is not in the table is an error.
"""
from phintys.ops.elementwise.scalar import SCALAR_OPS
from phintys.optimizer.engine.pattern import Hole, op_pattern

OTHER_NAMES = {"absolute": "abs_", "power": "pow"}

x, y, z, c = Hole("x"), Hole("y"), Hole("z"), Hole("c")


def __getattr__(name):
    key = OTHER_NAMES.get(name, name)
    if key not in SCALAR_OPS:
        raise AttributeError(f"{name} is no hole, and no elementwise op is called {key}")
    return op_pattern(key)
