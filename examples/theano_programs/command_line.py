"""The options of all programs."""
import argparse


def arguments(epochs, n, parser=None):
    """What is asked for on the command line; a program may have options of its own, in ``parser``."""
    parser = parser or argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--n", type=int, default=n)
    return parser.parse_args()
