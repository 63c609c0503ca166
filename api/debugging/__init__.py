"""Modes that check each node as it runs: DebugMode (``debug_*``), NanGuardMode and MonitorMode.

``stepwise`` and ``watching`` run a graph node by node; ``failed_node`` adds details to errors of ordinary functions.
"""
