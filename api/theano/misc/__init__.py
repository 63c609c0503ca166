"""Theano's name ``misc``: modules that programs import from there. This file defines nothing."""
from phintys.theano_finder import lookup as _lookup

__getattr__ = _lookup(__name__)
