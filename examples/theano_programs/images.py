"""Images of ten classes, made by a rule: strokes of each class, shifted and with noise, 28 x 28 as MNIST's."""
import numpy as np

SIDE = 28


def prototypes():
    """One image for each class: a few strokes between random points."""
    draw = np.random.RandomState(1)
    images = np.zeros((10, SIDE, SIDE))
    for image in images:
        points = draw.randint(6, 22, size=(5, 2))
        for (row, column), (next_row, next_column) in zip(points, points[1:]):
            for part in np.linspace(0, 1, 40):
                y = row + part * (next_row - row)
                x = column + part * (next_column - column)
                image[int(y):int(y) + 2, int(x):int(x) + 2] = 1
    return images


def load(n, seed, dtype):
    """``n`` images as rows of numbers from 0 to 1, and their classes."""
    draw = np.random.RandomState(seed)
    classes = draw.randint(10, size=n)
    images = prototypes()[classes]
    shifts = draw.randint(-2, 3, size=(n, 2))
    images = np.array([np.roll(image, tuple(shift), axis=(0, 1)) for image, shift in zip(images, shifts)])
    images = np.clip(images * draw.uniform(0.6, 1, size=(n, 1, 1)) + 0.15 * draw.normal(size=images.shape), 0, 1)
    return images.reshape(n, -1).astype(dtype), classes.astype("int32")
