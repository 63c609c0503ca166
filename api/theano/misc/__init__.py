"""Theano's name ``misc``: modules that its users import from there. This file defines nothing."""
