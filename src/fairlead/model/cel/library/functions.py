"""All functions of expressions, of all libraries. Asked by `cel/checker.py` and by `cel/compiler.py`."""

from __future__ import annotations

from fairlead.model.cel.library import amounts, authorizer, lists, network, standard, strings
from fairlead.model.cel.library.function import Function, Known
from fairlead.model.cel.values import TypeValue

_LIBRARIES = (
    standard.LIBRARY,
    strings.LIBRARY,
    lists.LIBRARY,
    network.LIBRARY,
    amounts.LIBRARY,
    authorizer.LIBRARY,
)

FUNCTIONS: Known = {key: each for library in _LIBRARIES for key, each in library.functions.items()}
METHODS: Known = {key: each for library in _LIBRARIES for key, each in library.methods.items()}
NAMES = frozenset(name for name, _ in (*FUNCTIONS, *METHODS))
TYPES = {
    name: TypeValue(name)
    for name in ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type")
}

__all__ = ["FUNCTIONS", "METHODS", "NAMES", "TYPES", "Function"]
