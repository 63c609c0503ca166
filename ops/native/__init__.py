"""Loops and C headers that are independent of ops: instruction sets, half floats, copies, strided iteration,
arithmetic, masks."""
