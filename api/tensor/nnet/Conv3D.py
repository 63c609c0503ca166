"""The name ``tensor.nnet.Conv3D`` of Theano before 1.0, for volumes whose channels come last: names only."""
from phintys.ops.convolution.volumes_by_channel_last import conv3D

__all__ = ["conv3D"]
