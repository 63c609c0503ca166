"""Theano's name ``tensor.nnet.ctc``: connectionist temporal classification by the library warp-ctc. Names only."""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup
from phintys.ops.nnet.ctc import ConnectionistTemporalClassification, ctc, ctc_available, ctc_present

__all__ = ["ConnectionistTemporalClassification", "ctc", "ctc_available", "ctc_present"]
_public_names.adopt(globals())
__getattr__ = lookup(__name__)
