"""Loops: a graph that runs once for each step, with what it carries from one step to the next."""
