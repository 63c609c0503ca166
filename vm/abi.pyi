"""Compiled; what it has is for ops and the machine, and is not annotated."""
from typing import Any

def __getattr__(name: str) -> Any: ...
