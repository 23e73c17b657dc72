"""`${name}` in templates, names and questions: a parameter, an answer (`${step.field}`) or a fact of the run.

Used when a Runbook is written, to refuse names that nothing will ever fill (`check_names`), and when a step is
carried out (`fill_in`). A text that is nothing but one `${name}` becomes the value with its type; anywhere else the
value becomes a part of the text. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

from fairlead.core.problems import Problems

_PLACE = re.compile(r"\$\{([^{}]*)\}")
RUN_FACTS = ("run.name", "run.namespace", "run.user")
#: bound: objects | depth of a template of a runbook | 422
DEPTH_MAX = 24


def check_names(tree: Any, known: Container[str], path: str, problems: Problems, depth: int = 0) -> None:
    """Every `${name}` must be one of those that are known."""
    if depth > DEPTH_MAX:
        problems.invalid(path, "", f"is nested more than {DEPTH_MAX} deep")
    elif isinstance(tree, str):
        for name in _PLACE.findall(tree):
            if name not in known:
                problems.invalid(path, tree, f"${{{name}}} is neither a parameter, nor an answer to an earlier step"
                                 " (${step.field}), nor one of " + ", ".join(RUN_FACTS))  # fmt: skip
    elif isinstance(tree, dict):
        for name, value in tree.items():
            check_names(name, known, path, problems, depth + 1)
            check_names(value, known, f"{path}.{name}", problems, depth + 1)
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            check_names(value, known, f"{path}[{index}]", problems, depth + 1)


class UnfilledError(Exception):
    """A place whose value was never given: the step that would have asked for it was left out."""


def fill_in(tree: Any, values: Mapping[str, Any]) -> Any:
    """A copy with all values in their places. Raises UnfilledError."""
    if isinstance(tree, str):
        whole = _PLACE.fullmatch(tree)
        return _value(whole[1], values) if whole else fill_text(tree, values)
    if isinstance(tree, dict):
        return {fill_text(name, values): fill_in(value, values) for name, value in tree.items()}
    return [fill_in(value, values) for value in tree] if isinstance(tree, list) else tree


def fill_text(text: str, values: Mapping[str, Any]) -> str:
    """The same of a text, which stays one."""
    return _PLACE.sub(lambda found: _text(_value(found[1], values)), text)


def _value(name: str, values: Mapping[str, Any]) -> Any:
    if name not in values:
        raise UnfilledError(f"there is no value for ${{{name}}}: the step that asks for it was left out")
    return values[name]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
