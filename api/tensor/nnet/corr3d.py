"""Theano's name ``tensor.nnet.corr3d`` for correlations of volumes: names only."""
from phintys.ops.convolution.convolution import Corr3dMM, Corr3dMM_gradInputs, Corr3dMM_gradWeights

__all__ = ["Corr3dMM", "Corr3dMM_gradInputs", "Corr3dMM_gradWeights"]
