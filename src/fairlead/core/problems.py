"""Every problem of an object at once, each with field path, bad value and what would be right.

Filled by structure checks and the kinds' validators; `api/` turns a non-empty list into one 422 Invalid
whose causes are the problems. Messages use Kubernetes' words so that people find them where they always did.
Paths are plain strings (`spec.containers[0].name`), built by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from fairlead.core.errors import Cause

_SHOWN_MAX = 200
_FIELD_MAX = 512  # paths hold keys that clients made up
NOT_FOUND = "FieldValueNotFound"  # reason of a cause: what the field names does not exist
#: bound: requests | problems named in one answer | the rest is left out
PROBLEMS_MAX = 100


def show(value: Any) -> str:
    """A value as Kubernetes prints it in messages: strings quoted, the rest as JSON, long ones cut."""
    text = msgspec.json.encode(value).decode(errors="replace")
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."


class Problems:
    """A bounded list of causes with one method per kind of mistake."""

    __slots__ = ("causes",)

    def __init__(self) -> None:
        self.causes: list[Cause] = []

    def __bool__(self) -> bool:
        return bool(self.causes)

    def _add(self, reason: str, field: str, message: str) -> None:
        if len(field) > _FIELD_MAX:
            field = field[:_FIELD_MAX] + "..."
        cause = Cause(reason, message, field)
        # Validators that share a rule may name the same mistake; once is enough.
        if len(self.causes) < PROBLEMS_MAX and cause not in self.causes:
            self.causes.append(cause)

    def extend(self, causes: Iterable[Cause]) -> None:
        """Take over what was found before, elsewhere."""
        for cause in causes:
            self._add(cause.reason, cause.field, cause.message)

    def required(self, field: str, detail: str = "") -> None:
        self._add("FieldValueRequired", field, "Required value" + (f": {detail}" if detail else ""))

    def invalid(self, field: str, value: Any, detail: str) -> None:
        self._add("FieldValueInvalid", field, f"Invalid value: {show(value)}: {detail}")

    def unsupported(self, field: str, value: Any, supported: Iterable[str]) -> None:
        choices = ", ".join(show(choice) for choice in supported)
        self._add(
            "FieldValueNotSupported", field, f"Unsupported value: {show(value)}: supported values: {choices}"
        )

    def forbidden(self, field: str, detail: str) -> None:
        self._add("FieldValueForbidden", field, f"Forbidden: {detail}")

    def duplicate(self, field: str, value: Any, detail: str = "") -> None:
        text = f"Duplicate value: {show(value)}" + (f": {detail}" if detail else "")
        self._add("FieldValueDuplicate", field, text)

    def not_found(self, field: str, value: Any, detail: str = "") -> None:
        self._add(NOT_FOUND, field, f"Not found: {show(value)}" + (f": {detail}" if detail else ""))

    def wrong_type(self, field: str, value: Any, expected: str) -> None:
        self._add("FieldValueTypeInvalid", field, f"Invalid value: {show(value)}: must be {expected}")

    def type_invalid(self, field: str, value: Any, detail: str) -> None:
        """A wrong type in the words of a schema."""
        self._add("FieldValueTypeInvalid", field, f"Invalid value: {show(value)}: {detail}")

    def too_long(self, field: str, limit: int) -> None:
        self._add("FieldValueTooLong", field, f"Too long: may not be more than {limit} bytes")

    def too_many(self, field: str, count: int, limit: int) -> None:
        self._add("FieldValueTooMany", field, f"Too many: {count}: must have at most {limit} items")

    def summary(self) -> str:
        """One sentence with all of them, as Kubernetes joins them."""
        parts = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in self.causes]
        return parts[0] if len(parts) == 1 else "[" + ", ".join(parts) + "]"
