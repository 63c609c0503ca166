"""Theano's name ``sandbox.blocksparse``, which is now ``tensor.nnet.blocksparse``; importing it warns. Names only."""
import warnings as _warnings

from phintys.missing_names import lookup
from phintys.tensor.nnet.blocksparse import *  # noqa: F403
from phintys.tensor.nnet.blocksparse import __all__  # noqa: F401

__getattr__ = lookup(__name__)

_warnings.warn("DEPRECATION: sandbox.blocksparse does not exist anymore, it has been moved to tensor.nnet.blocksparse.",
               category=DeprecationWarning, stacklevel=2)
