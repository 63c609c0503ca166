"""Derivatives of graphs: ``grad`` and ``Lop`` (backward), ``Rop`` (forward), and ``verify_grad``.

They need only the protocol of ``Op``; the formulas are in the ops.
"""
