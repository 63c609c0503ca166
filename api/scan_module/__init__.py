"""Loops: ``scan`` and functions made with it, under the names of Theano's ``scan_module``."""
from phintys.graph import public_names as _public_names
from phintys.graph.traversal import clone_replace as clone
from phintys.scan_module import scan_utils
from phintys.scan_module.body_results import until
from phintys.scan_module.scan import scan
from phintys.scan_module.scan_checkpoints import scan_checkpoints
from phintys.scan_module.scan_views import foldl, foldr, map, reduce
from phintys.theano_finder import lookup as _lookup

__all__ = ["clone", "foldl", "foldr", "map", "reduce", "scan", "scan_checkpoints", "until"]
_public_names.adopt(globals())


__getattr__ = _lookup(__name__)
