"""Cumulative sums and products, differences, linear recurrences, and products over axes.

``Prod`` is in this folder rather than in ``reduction`` because its derivatives are recurrences.
"""
