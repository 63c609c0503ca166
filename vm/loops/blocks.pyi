"""Rows that a loop computes ahead, for a block of steps at a time."""
from typing import Any


class Blocks:
    program: Any
    n_results: int
    length: int
    def kept_bytes(self) -> int: ...

def length_of_blocks(bytes: int) -> int: ...
def set_block_bytes(bytes: int = ...) -> None: ...
