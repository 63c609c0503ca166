"""Cumulative sums and products, differences, linear recurrences, and products over axes.

``Prod`` is here and not in ``reduction`` because its derivatives are recurrences.
"""
