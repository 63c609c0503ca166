"""PyMC's own random variables; they are read when a graph has the first of them."""
