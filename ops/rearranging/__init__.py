"""Functions that reorder or repeat elements: roll, moveaxis, squeeze, repeat, tile, compress."""
