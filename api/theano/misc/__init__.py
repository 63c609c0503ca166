"""Theano's name ``misc``: what its users import from there. Each module is about one thing; there is nothing here."""
