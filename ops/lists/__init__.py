"""Typed lists: variables whose values are Python lists of values of one type."""
