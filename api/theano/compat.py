"""Theano's ``compat``: names that programs use to run on Python 2 and 3; here they are the names of Python 3."""
from __future__ import annotations

import configparser
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, ValuesView
from collections.abc import MutableMapping as DictMixin
from importlib import reload
from io import BytesIO
from operator import truediv as operator_div
from typing import Any

PY3 = True
izip, imap, ifilter, next = zip, map, filter, next


def exc_message(error: Any) -> Any:
    """Return the message of an exception, or of the innermost one if exceptions are arguments of others."""
    while isinstance(error, Exception) and error.args:
        error = error.args[0]
    return error


def cmp(x: Any, y: Any) -> Any:
    """Return -1, 0 or 1, as ``x`` is less than, equal to or greater than ``y``."""
    return (x > y) - (x < y)


def get_unbound_function(method: Any) -> Any:
    """Return the function of a method."""
    return getattr(method, "__func__", method)


def decode(text: str) -> Any:
    """Decode bytes to text."""
    return text.decode()


def decode_iter(texts: Any) -> Any:
    """Decode several texts; see `decode`."""
    return map(decode, texts)


__all__ = ["BytesIO", "Callable", "DictMixin", "Iterable", "Mapping", "OrderedDict", "PY3", "ValuesView", "cmp",
           "configparser", "decode", "decode_iter", "exc_message", "get_unbound_function", "ifilter", "imap", "izip",
           "next", "operator_div", "reload"]
