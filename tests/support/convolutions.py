"""Convolutions by NumPy alone, to compare with, and cases of all kinds of them."""
import itertools
from typing import NamedTuple

import numpy as np


def zeros_around(border, window, dilation):
    """Zeros before and after each dimension."""
    reach = [(length - 1) * step for length, step in zip(window, dilation)]
    if border in ("valid", "half", "full"):
        return [({"valid": 0, "half": (r + 1) // 2, "full": r}[border],) * 2 for r in reach]
    border = (border,) * len(window) if isinstance(border, int) else border
    return [side if isinstance(side, tuple) else (side, side) for side in border]


def convolve(images, filters, border_mode="valid", subsample=None, filter_flip=True, filter_dilation=None, num_groups=1,
             unshared=False):
    """The result of a convolution: each window of an image times the filters."""
    rank = images.ndim - 2
    steps, dilation = subsample or (1,) * rank, filter_dilation or (1,) * rank
    window = filters.shape[-rank:]
    if filter_flip:
        filters = filters[(..., *[slice(None, None, -1)] * rank)]
    padded = np.pad(images, [(0, 0), (0, 0), *zeros_around(border_mode, window, dilation)])
    reach = [(length - 1) * step + 1 for length, step in zip(window, dilation)]
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=tuple(range(2, 2 + rank)))
    windows = windows[(slice(None), slice(None), *[slice(None, None, step) for step in steps],
                       *[slice(None, None, step) for step in dilation])]
    count, channels, lengths = *windows.shape[:2], windows.shape[2:2 + rank]
    places, taps, per_group = int(np.prod(lengths)), int(np.prod(window)), (channels // num_groups,)
    several = (num_groups, len(filters) // num_groups)
    windows = windows.reshape(count, num_groups, *per_group, places, taps)
    if unshared:
        result = np.einsum("ngcpk,gfpck->ngfp", windows, filters.reshape(*several, places, *per_group, taps))
    else:
        result = np.einsum("ngcpk,gfck->ngfp", windows, filters.reshape(*several, *per_group, taps))
    return result.reshape(count, len(filters), *lengths)


class Case(NamedTuple):
    """A convolution: shapes of images and filters, and parameters."""
    images: tuple
    filters: tuple
    parameters: dict

    def __str__(self):
        shown = [f"{name}={value}" for name, value in self.parameters.items()]
        return " ".join([f"{self.images}*{self.filters}", *shown]).replace(", ", ",")

    def values(self, dtype="float64", seed=0):
        """Images, filters and the result."""
        random = np.random.default_rng(seed)
        images, filters = [random.normal(size=shape).astype(dtype) for shape in (self.images, self.filters)]
        return images, filters, convolve(images, filters, **self.parameters)


def case(images, filters, **parameters):
    return Case(images, filters, parameters)


def unshared(images, filters, **parameters):
    """A convolution whose filters are not shared: their shape is completed by that of the result."""
    result = convolve(np.zeros(images), np.zeros(filters), **parameters)
    return case(images, (filters[0], *result.shape[2:], *filters[1:]), unshared=True, **parameters)


# Convolutions by Winograd's method.
SQUARES = [
    case((3, 64, 17, 19), (66, 64, 3, 3), border_mode="half"),
    case((1, 72, 30, 16), (64, 72, 3, 3), border_mode="full", filter_flip=False),
    case((40, 96, 5, 7), (96, 96, 3, 3)), case((60, 64, 1, 1), (70, 64, 3, 3), border_mode="full"),
    case((2, 128, 18, 21), (128, 64, 3, 3), num_groups=2, border_mode=(2, 0)),
    case((2, 64, 33, 20), (65, 64, 3, 3), border_mode=((0, 2), (3, 1))),
]
BORDERS = ["valid", "half", "full", 1, (2, 0), ((0, 2), (1, 0)), (1, (0, 3))]
CASES = [case((2, 3, 7, 8), (4, 3, 3, 2), border_mode=border, subsample=steps, filter_dilation=dilation)
         for border, steps, dilation in itertools.product(BORDERS, [(1, 1), (2, 3)], [(1, 1), (2, 1)])] + [
    case((2, 3, 7, 8), (4, 3, 3, 2), filter_flip=False),
    case((2, 3, 7, 8), (4, 3, 3, 2), filter_flip=False, border_mode="half", subsample=(2, 1)),
    # as many filters as tiles have, and more; rows shorter and longer than a vector; rows that end within one
    *[case((1, 2, 5, columns), (filters, 2, 2, 2), border_mode=1) for filters, columns in
      itertools.product([1, 2, 3, 5, 7, 8, 9, 17], [4, 17, 33])],
    case((3, 4, 40, 70), (6, 4, 5, 5)), case((2, 1, 40, 70), (1, 1, 3, 3), border_mode="half"),
    # a single element; filters as large as the image; one by one; steps beyond the filter, and beyond the image
    case((1, 1, 1, 1), (1, 1, 1, 1)), case((2, 3, 5, 6), (4, 3, 5, 6)), case((2, 5, 6, 7), (3, 5, 1, 1)),
    case((2, 5, 6, 7), (3, 5, 1, 1), subsample=(2, 2)), case((1, 2, 9, 9), (2, 2, 2, 2), subsample=(4, 3)),
    case((1, 2, 5, 5), (2, 2, 2, 2), subsample=(9, 9)), case((1, 2, 9, 9), (2, 2, 3, 3), subsample=(2, 4),
                                                             filter_dilation=(4, 2), border_mode="full"),
    # enough small images that they are computed side by side, and some that are left
    *[case((images, 3, 5, 6), (filters, 3, 3, 3), border_mode=border) for images, filters, border in
      [(16, 9, "half"), (19, 3, "full"), (35, 4, "valid")]],
    case((17, 4, 7, 8), (6, 2, 3, 2), num_groups=2, subsample=(2, 2)), case((16, 3, 4, 5), (2, 3, 1, 1)),
    case((16, 3, 4, 5), (2, 3, 4, 5), filter_flip=False), case((20, 2, 3, 4, 5), (3, 2, 2, 2, 2), border_mode="half"),
    # as many channels as a vector has elements, and more; not a multiple of them; more than fit into the cache at once
    *[case((2, channels, 6, 7), (5, channels, 3, 2), border_mode=1) for channels in [6, 12, 16, 17, 40]],
    case((1, 16, 6, 7), (9, 16, 2, 2), subsample=(2, 1), filter_flip=False),
    case((3, 64, 40, 41), (66, 64, 1, 2)), case((2, 40, 6, 7), (20, 20, 3, 3), num_groups=2),
    case((1, 13, 3, 4, 5), (6, 13, 2, 2, 2), border_mode="half"),
    # groups
    case((2, 6, 7, 8), (4, 3, 3, 2), num_groups=2), case((2, 6, 7, 8), (6, 1, 3, 3), num_groups=6, border_mode="half"),
    case((2, 6, 7, 8), (12, 2, 3, 3), num_groups=3, subsample=(2, 2), border_mode=1),
    # rows of results, or planes, that are whole vectors: of several images and of one, in groups
    case((3, 4, 6, 18), (8, 2, 3, 3), num_groups=2), case((1, 4, 34, 18), (6, 2, 3, 3), num_groups=2),
    case((3, 4, 8, 8), (6, 2, 1, 1), num_groups=2), case((2, 3, 7, 16), (5, 3, 3, 3), border_mode="half"),
    # enough channels for squares of results: whole and cut ones, stretches that end within rows and images
    *SQUARES,
    # nothing
    case((0, 3, 7, 8), (4, 3, 3, 2)), case((2, 0, 7, 8), (4, 0, 3, 2)), case((2, 3, 7, 8), (0, 3, 3, 2)),
    # volumes
    *[case((2, 3, 5, 6, 7), (4, 3, 2, 3, 2), border_mode=border, subsample=steps, filter_dilation=dilation)
      for border, steps, dilation in [("valid", (1, 1, 1), (1, 1, 1)), ("half", (1, 2, 1), (1, 1, 2)),
                                      ("full", (2, 1, 3), (2, 1, 1)), ((1, 0, 2), (1, 1, 1), (1, 1, 1))]],
    case((2, 4, 5, 6, 20), (6, 2, 2, 3, 3), num_groups=2, filter_flip=False),
    # filters of each place
    unshared((2, 3, 7, 8), (4, 3, 3, 2)), unshared((2, 3, 7, 8), (4, 3, 3, 2), border_mode="half", filter_flip=False),
    unshared((2, 4, 7, 8), (4, 2, 3, 2), border_mode=((1, 0), 2), subsample=(2, 1), num_groups=2),
    unshared((2, 3, 7, 8), (4, 3, 3, 2), border_mode="full", filter_dilation=(1, 2)),
]
