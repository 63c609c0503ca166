"""Theano's name ``tensor.subtensor``: indexing, basic and advanced. Names only; see ``phintys.ops``."""
from phintys.missing_names import lookup as _lookup
from phintys.ops.indexing.advanced_subtensor import (
    AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor,
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    advanced_boolean_inc_subtensor,
    advanced_boolean_set_subtensor,
    advanced_boolean_subtensor,
    advanced_inc_subtensor,
    advanced_inc_subtensor1,
    advanced_set_subtensor,
    advanced_set_subtensor1,
    advanced_subtensor,
    advanced_subtensor1,
    sparse_grad,
)
from phintys.ops.indexing.inc_subtensor import inc_subtensor, set_subtensor
from phintys.ops.indexing.slices import get_canonical_form_slice
from phintys.ops.indexing.subtensor import IncSubtensor, Subtensor
from phintys.ops.indexing.take import take

__all__ = [name for name in dir() if not name.startswith("_")]
__getattr__ = _lookup(__name__)
