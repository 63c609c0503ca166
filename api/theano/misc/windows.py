"""Theano's ``misc.windows``: runs programs without opening a window."""
from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["call_subprocess_Popen", "output_subprocess_Popen", "subprocess_Popen"]

_NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)


def subprocess_Popen(command: Sequence[str], **params: Any) -> Any:
    """Start a program, as ``subprocess.Popen`` does, without input unless ``stdin`` is given.

    Examples
    --------
    >>> import sys
    >>> subprocess_Popen([sys.executable, "-c", "pass"]).wait()
    0
    """
    params.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen(command, creationflags=_NO_WINDOW, **params)


def call_subprocess_Popen(command: Sequence[str], **params: Any) -> int:
    """Run a program without its output; return its exit status.

    Examples
    --------
    >>> import sys
    >>> call_subprocess_Popen([sys.executable, "-c", "raise SystemExit(3)"])
    3
    """
    if "stdout" in params or "stderr" in params:
        raise TypeError("don't use stderr or stdout with call_subprocess_Popen")
    return subprocess_Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **params).wait()


def output_subprocess_Popen(command: Sequence[str], **params: Any) -> tuple[Any, ...]:
    """Run a program; return its output, its error output and its exit status.

    Examples
    --------
    >>> import sys
    >>> output_subprocess_Popen([sys.executable, "-c", "print(1, end='')"])
    (b'1', b'', 0)
    """
    if "stdout" in params or "stderr" in params:
        raise TypeError("don't use stderr or stdout with output_subprocess_Popen")
    process = subprocess_Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **params)
    return (*process.communicate(), process.returncode)
