"""The kernel of loops: a virtual machine inside an instruction of another."""
from typing import Any


class LoopKernel:
    program: Any
    scalar_body: Any
    blocks: Any
    steps_at_device: dict[tuple[tuple[int, ...], ...], Any]
    replayed: int
    def __init__(self, program: Any, n_sequences: int, taps: tuple[tuple[int, ...], ...], n_stacked: int,
                 n_carried: int, is_while: bool, kept: tuple[int | None, ...], row_lengths: tuple[tuple[Any, ...], ...],
                 title: str, name: str | None = None, scalar_body: Any = None, ahead: Any = None,
                 lengths: Any = None) -> None: ...
    def free(self) -> None: ...
    def kept_bytes(self) -> int: ...

def record_steps(last: int = 8) -> None: ...
def loops_in(program: Any) -> list[LoopKernel]: ...

def __getattr__(name: str) -> Any: ...
