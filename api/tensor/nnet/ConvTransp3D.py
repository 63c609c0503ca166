"""The name ``tensor.nnet.ConvTransp3D`` of Theano before 1.0, for volumes whose channels come last: names only."""
from phintys.ops.convolution.volumes_by_channel_last import convTransp3D

__all__ = ["convTransp3D"]
