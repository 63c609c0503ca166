"""Convolutions of images and volumes, their gradients, and functions composed of them."""
