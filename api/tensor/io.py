"""Theano's name ``tensor.io`` for arrays in files: names only, see ``phintys.ops.load_from_disk``."""
from phintys.ops.load_from_disk import LoadFromDisk, load

__all__ = ["LoadFromDisk", "load"]
