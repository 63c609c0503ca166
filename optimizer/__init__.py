"""Floor 3: the optimizer. ``pipeline`` is the order in which ``rewrites`` and ``passes`` run, on ``engine``."""
