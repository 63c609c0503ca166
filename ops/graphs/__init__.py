"""Ops that contain a graph or a Python function: ``OpFromGraph``, ``ifelse``, Jacobians, row maps, ``as_op``."""
