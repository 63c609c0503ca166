"""User-defined options in ``config``: ``AddConfigVar("mine.depth", "How deep.", IntParam(3))``.

The options of phintys are a table in ``phintys.graph.config``. Options added here are set and read in the same way.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.config import boolean, change_flags, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.config import Config

__all__ = ["AddConfigVar", "BoolParam", "ConfigParam", "EnumStr", "FloatParam", "IntParam", "StrParam", "TypedParam",
           "change_flags", "config"]


class ConfigParam:
    """A kind of option.

    Parameters
    ----------
    default : object or callable
        The value until one is set; a callable is called when the option is added.
    filter : callable, optional
        Converts the value that is set; it raises ``ValueError`` for an invalid one.
    allow_override : bool
        Whether the option can be set at all.

    Examples
    --------
    >>> phintys.configparser.ConfigParam("fast").default
    'fast'
    """

    def __init__(self, default: float | str, filter: Callable[..., Any] | None = None,
                 allow_override: bool = True) -> None:
        self.default, self.filter, self.allow_override = default, filter, allow_override

    def first_value(self) -> int:
        """Return the default, converted."""
        default = self.default() if callable(self.default) else self.default
        return default if self.filter is None else self.filter(default)

    def converted(self, value: Any) -> Any:
        """Return the value that is set, converted."""
        if not self.allow_override:
            raise ValueError("this option cannot be changed")
        return value if self.filter is None else self.filter(value)


class EnumStr(ConfigParam):
    """One of several words.

    Parameters
    ----------
    default : str
    *options : str
        The other words.
    convert : callable, optional
        Applied to the value that is set.
    allow_override : bool

    Raises
    ------
    ValueError
        If a word is not a string.

    Examples
    --------
    >>> phintys.configparser.EnumStr("fast", "slow").default
    'fast'
    """

    def __init__(self, default: str, *options: Any, convert: Any = None, allow_override: bool = True) -> None:
        self.all = (default, *options)
        strange = [word for word in self.all if not isinstance(word, str)]
        if strange:
            raise ValueError(f"Valid values for an EnumStr parameter should be strings, not {strange}")
        self._convert = convert
        super().__init__(default, self._word, allow_override)

    def _word(self, value):
        value = value if self._convert is None else self._convert(value)
        if value not in self.all:
            raise ValueError(f"expected one of {', '.join(map(repr, self.all))}")
        return value


class TypedParam(ConfigParam):
    """A value of a Python type.

    Parameters
    ----------
    default : object
    mytype : callable
        Converts a value to the type.
    is_valid : callable, optional
        Returns whether a value is allowed.
    allow_override : bool

    Examples
    --------
    >>> phintys.configparser.TypedParam("3", int).default
    '3'
    """

    def __init__(self, default: float | str, mytype: Callable[..., Any] | type, is_valid: Any = None,
                 allow_override: bool = True) -> None:
        self.mytype, self.is_valid = mytype, is_valid
        super().__init__(default, self._typed, allow_override)

    def _typed(self, value):
        value = self.mytype(value)
        if self.is_valid is not None and not self.is_valid(value):
            raise ValueError("is_valid refuses the value")
        return value


def StrParam(default: str, is_valid: Any = None, allow_override: bool = True) -> Any:
    """A `TypedParam` for text.

    Examples
    --------
    >>> phintys.configparser.StrParam("fast").default
    'fast'
    """
    return TypedParam(default, str, is_valid, allow_override)


def IntParam(default: int, is_valid: Any = None, allow_override: bool = True) -> Any:
    """A `TypedParam` for whole numbers.

    Examples
    --------
    >>> phintys.configparser.IntParam(3).default
    3
    """
    return TypedParam(default, int, is_valid, allow_override)


def FloatParam(default: float, is_valid: Any = None, allow_override: bool = True) -> Any:
    """A `TypedParam` for numbers.

    Examples
    --------
    >>> phintys.configparser.FloatParam(0.5).default
    0.5
    """
    return TypedParam(default, float, is_valid, allow_override)


def BoolParam(default: bool, is_valid: Any = None, allow_override: bool = True) -> Any:
    """A `TypedParam` for True and False, also as words.

    Examples
    --------
    >>> phintys.configparser.BoolParam(True).default
    True
    """
    return TypedParam(default, boolean, is_valid, allow_override)


def AddConfigVar(name: str, doc: str, configparam: Any, root: Config = config, in_c_key: bool = True) -> None:
    """Add an option to ``config``.

    Parameters
    ----------
    name : str
        Full name; a part before a dot is a section.
    doc : str
        What the option does.
    configparam : ConfigParam
    root : Config
    in_c_key : bool
        Accepted for compatibility with Theano.

    Raises
    ------
    AttributeError
        If the option exists already.
    TypeError
        If a section's name is the name of an option.
    ValueError
        If the default is not allowed.

    Examples
    --------
    >>> from phintys.graph.config import Config
    >>> options = Config([])
    >>> phintys.configparser.AddConfigVar("mine.depth", "How deep.", phintys.configparser.IntParam(3), root=options)
    >>> options.mine.depth
    3
    """
    configparam.fullname, configparam.doc = name, doc
    root.add(name, configparam.first_value(), configparam.converted, doc)
