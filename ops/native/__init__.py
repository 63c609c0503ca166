"""Loops and C headers that know no op: instruction sets, half floats, copies, strided walks, arithmetic, masks."""
