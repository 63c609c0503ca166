"""The options of all programs."""
import argparse


def arguments(epochs, n):
    """What is asked for on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--n", type=int, default=n)
    return parser.parse_args()
