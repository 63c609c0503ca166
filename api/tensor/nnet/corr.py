"""Theano's name ``tensor.nnet.corr`` for correlations of images: names only."""
from phintys.ops.convolution.convolution import CorrMM, CorrMM_gradInputs, CorrMM_gradWeights

__all__ = ["CorrMM", "CorrMM_gradInputs", "CorrMM_gradWeights"]
