"""Random variables by the names of ``numpy.random``: ``T.random.normal(size=3)``, ``T.random.default_rng(seed)``.

A function here draws by the process's own `Generator`, whose method it is; ``T.random.seed(3)`` seeds that one.
"""
from phintys.random import Generator, default_rng

# PyTensor's name.
RandomStream = Generator

__all__ = ["Generator", "RandomStream", "default_rng"]
_own = []


def __getattr__(name):
    if name.startswith("_") or not callable(getattr(Generator, name, None)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; a Generator has no such method")
    if not _own:
        _own.append(Generator())
    return getattr(_own[0], name)


def __dir__():
    return sorted([*__all__, *[name for name in dir(Generator) if not name.startswith("_")]])
