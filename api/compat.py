"""Theano's name ``compat``: what its programs use to run on Python 2 and 3; here these are Python 3's own."""
import configparser
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, ValuesView
from collections.abc import MutableMapping as DictMixin
from importlib import reload
from io import BytesIO
from operator import truediv as operator_div

PY3 = True
izip, imap, ifilter, next = zip, map, filter, next


def exc_message(error):
    """The message of an exception; of the innermost one when it was raised again with another as its argument."""
    while isinstance(error, Exception) and error.args:
        error = error.args[0]
    return error


def cmp(x, y):
    """-1, 0 or 1: how ``x`` compares with ``y``."""
    return (x > y) - (x < y)


def get_unbound_function(method):
    """The function of a method."""
    return getattr(method, "__func__", method)


def decode(text):
    """Bytes as text."""
    return text.decode()


def decode_iter(texts):
    """The same for each of several."""
    return map(decode, texts)


__all__ = ["BytesIO", "Callable", "DictMixin", "Iterable", "Mapping", "OrderedDict", "PY3", "ValuesView", "cmp",
           "configparser", "decode", "decode_iter", "exc_message", "get_unbound_function", "ifilter", "imap", "izip",
           "next", "operator_div", "reload"]
