"""Sorting and searching: sort, argsort, searchsorted, distinct values and counts."""
