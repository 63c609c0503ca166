"""Theano's old name for ``tensor.nnet.softsign``."""
from phintys.tensor.nnet import softsign

__all__ = ["softsign"]
