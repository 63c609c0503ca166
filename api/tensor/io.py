"""Theano's name ``tensor.io`` for arrays in files: names only, see ``phintys.ops.creation.load_from_disk``."""
from phintys.ops.creation.load_from_disk import LoadFromDisk, load

__all__ = ["LoadFromDisk", "load"]
