"""From an optimized graph to a program: schedule, ownership, emitter, lazy branches, lifetimes, plan, verifier.

``linker`` calls all stages in order. Everything here runs when a function is compiled, except ``plan`` with
``lifetimes`` and ``packing``, which run when a call has new shapes.
"""
