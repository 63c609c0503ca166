"""Convolutions of images and volumes, their gradients, and what is made of them."""
