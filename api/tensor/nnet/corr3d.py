"""Theano's name ``tensor.nnet.corr3d`` for correlations of volumes: names only."""
from phintys.ops.convolution.convolution import Corr3dMM, Corr3dMM_gradInputs, Corr3dMM_gradWeights
from phintys.ops.convolution.convolution import Correlation as BaseCorr3dMM

__all__ = ["BaseCorr3dMM", "Corr3dMM", "Corr3dMM_gradInputs", "Corr3dMM_gradWeights"]
