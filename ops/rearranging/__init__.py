"""Elements in another order or several times: roll, moveaxis, squeeze, repeat, tile, compress."""
