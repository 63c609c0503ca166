"""Shapes as values, and ops that change the shape: dimshuffle, reshape, contiguous copies, join, split."""
