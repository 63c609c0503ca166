"""Theano's name ``misc``: modules that its users import from there. This file defines nothing."""
from phintys.not_yet import lookup as _lookup

__getattr__ = _lookup(__name__)
