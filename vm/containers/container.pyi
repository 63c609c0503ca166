"""The cell that keeps a shared variable's value between calls."""
from typing import Any

class Container:
    type: Any
    name: str | None
    readonly: bool
    strict: bool
    allow_downcast: bool | None
    value: Any
    data: Any
    def __new__(cls, type: Any, value: Any = None, name: str | None = None, readonly: bool = False,
                strict: bool | None = False, allow_downcast: bool | None = None) -> Container: ...
    def __init__(self, type: Any, value: Any = None, name: str | None = None, readonly: bool = False,
                 strict: bool = False, allow_downcast: bool | None = None) -> None: ...
    def get(self, borrow: bool = False) -> Any: ...
    def set(self, value: Any, borrow: bool = False) -> None: ...

def __getattr__(name: str) -> Any: ...
