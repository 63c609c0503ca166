"""Loops: graphs that run once for each step, and pass values from one step to the next."""
