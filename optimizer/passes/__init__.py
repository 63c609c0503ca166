"""Passes over whole graphs: merging, constant folding, shapes, fusion, lazy branches, work in place."""
