"""Shapes as values, and ops that change shapes: dimshuffle, reshape, contiguous copies, join, split."""
