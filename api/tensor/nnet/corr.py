"""Theano's name ``tensor.nnet.corr`` for correlations of images: names only."""
from phintys.ops.convolution.convolution import Correlation as BaseCorrMM
from phintys.ops.convolution.convolution import CorrMM, CorrMM_gradInputs, CorrMM_gradWeights

__all__ = ["BaseCorrMM", "CorrMM", "CorrMM_gradInputs", "CorrMM_gradWeights"]
