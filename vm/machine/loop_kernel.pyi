"""The kernel of loops: a virtual machine inside an instruction of another."""
from typing import Any


class LoopKernel:
    program: Any
    def __init__(self, program: Any, n_sequences: int, taps: tuple[tuple[int, ...], ...], n_stacked: int,
                 n_carried: int, is_while: bool, kept: tuple[int | None, ...], patterns: tuple[tuple[bool, ...], ...],
                 title: str, name: str | None = None) -> None: ...

def __getattr__(name: str) -> Any: ...
