"""A YAML document whose every value knows its path and its line, so that whoever refuses one can say where it stands.

    root = read_document(data)          a Field
    root.mapping(known) -> {name: Field}, field.items(), field.text(), field.whole(), field.seconds(), ...

What is not as it should be is a UsageError that names line, field and fix. Used by the other files here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fairlead.core.errors import UsageError

_SECONDS = re.compile(r"(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")


class ScenarioField:
    __slots__ = ("_loader", "_node", "_parts", "line", "path")

    def __init__(self, node: Any, path: str, loader: Any) -> None:
        self._node, self._loader = node, loader
        self.path = path
        self.line: int = node.start_mark.line + 1
        self._parts: dict[str, ScenarioField] | None = None

    def refused(self, why: str) -> UsageError:
        return UsageError(f"line {self.line}: {self.path or 'the scenario'}: {why}")

    @property
    def value(self) -> Any:
        """As plain data."""
        return self._loader.construct_object(self._node, deep=True)

    def mapping(self, known: Sequence[str] = ()) -> dict[str, ScenarioField]:
        """Its fields by name; with `known`, no others."""
        if self._parts is None:
            if self._node.id != "mapping":
                raise self.refused("must be a mapping of names to values")
            self._parts = {}
            for name_node, value in self._node.value:
                name = str(name_node.value)
                part = ScenarioField(value, f"{self.path}.{name}" if self.path else name, self._loader)
                part.line = name_node.start_mark.line + 1
                if name in self._parts:
                    raise part.refused("stands there twice: take one of them away")
                self._parts[name] = part
        for name, part in self._parts.items():
            if known and name not in known:
                raise part.refused(f"is no field here; there are: {', '.join(known)}")
        return self._parts

    def items(self) -> list[ScenarioField]:
        if self._node.id != "sequence":
            raise self.refused("must be a list: begin each entry with a hyphen")
        return [
            ScenarioField(each, f"{self.path}[{number}]", self._loader)
            for number, each in enumerate(self._node.value)
        ]

    @property
    def is_list(self) -> bool:
        return bool(self._node.id == "sequence")

    def text(self) -> str:
        value = self.value
        if not isinstance(value, str) or not value:
            raise self.refused("must be a text")
        return value

    def choice(self, known: Sequence[str]) -> str:
        value = self.text()
        if value not in known:
            raise self.refused(f'"{value}" is none of: {", ".join(known)}')
        return value

    def whole(self, least: int = 0) -> int:
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.refused(f"must be a whole number, {least} or more")
        return value

    def share(self) -> float:
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise self.refused("must be a probability from 0 to 1")
        return float(value)

    def seconds(self) -> float:
        value = self.value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
            return float(value)
        found = _SECONDS.fullmatch(value) if isinstance(value, str) and value else None
        if found is None:
            raise self.refused("must be a time such as 8s, 1.5s, 500ms or 2m30s")
        minutes, seconds, milliseconds = found.groups()
        return int(minutes or 0) * 60 + float(seconds or 0) + int(milliseconds or 0) / 1000

    def object(self) -> dict[str, Any]:
        self.mapping()
        value: dict[str, Any] = self.value
        return value


def read_document(data: bytes) -> ScenarioField:
    import yaml  # here: most commands read none

    try:
        loader = yaml.SafeLoader(data)  # which reads the beginning, and refuses what is no text
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise UsageError(f"line {line}: this is not YAML: {error.problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"this is not YAML: {str(error).splitlines()[0]}") from None
    if node is None:
        raise UsageError("the file is empty: a scenario has at least steps")
    return ScenarioField(node, "", loader)
