"""Theano's name ``misc``: modules that programs import from there. This file defines nothing."""
from phintys.missing_names import lookup as _lookup

__getattr__ = _lookup(__name__)
