"""One function of expressions, as data, and how a file of functions is gathered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Function(NamedTuple):
    call: Callable[..., Any]  # with what it may spend, and its arguments
    returns: str  # the name of the type, or `dyn`
    on: str = ""  # what a method is one of, by the names of types with spaces between; "": anything


Known = dict[tuple[str, int], Function]


class Library:
    """Functions by name and number of arguments, and methods, whose target is not counted."""

    def __init__(self) -> None:
        self.functions: Known = {}
        self.methods: Known = {}

    def function(self, name: str, count: int, call: Callable[..., Any], returns: str) -> None:
        self.functions[name, count] = Function(call, returns)

    def method(self, name: str, count: int, call: Callable[..., Any], returns: str, on: str = "") -> None:
        self.methods[name, count] = Function(call, returns, on)
