"""Cells that many kinds show in `kubectl get`: ages, labels, selectors. Placed in column lists by
`model/kinds/`.

A cell is a pure function of the object and of now (seconds since the epoch); nothing here fails on missing
fields.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.core.times import human_duration, parse_time
from fairlead.model.kind import Cell, Column, Json

NONE = "<none>"
UNKNOWN = "<unknown>"


def since(instant: str | None, now: float) -> str:
    """How long ago an instant was; `<unknown>` when it is not given."""
    return human_duration(now - parse_time(instant)) if instant else UNKNOWN


def age(obj: Json, now: float) -> Cell:
    """Time since the object was created."""
    return since((obj.get("metadata") or {}).get("creationTimestamp"), now)


AGE = Column("Age", age, description="Time since the object was created.")


def labels_text(labels: Mapping[str, str] | None) -> str:
    """A map of labels on one line, in order of the keys."""
    if not labels:
        return NONE
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def label_selector_text(selector: Json | None) -> str:
    """A LabelSelector in the notation of `kubectl get -l`, its requirements in order of their keys."""
    if not selector:
        return NONE
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for requirement in selector.get("matchExpressions") or ():
        key, operator = requirement.get("key") or "", requirement.get("operator")
        if operator == "Exists":
            terms.append((key, key))
        elif operator == "DoesNotExist":
            terms.append((key, f"!{key}"))
        else:
            word = "in" if operator == "In" else "notin"
            terms.append((key, f"{key} {word} ({','.join(sorted(requirement.get('values') or ()))})"))
    return ",".join(text for _, text in sorted(terms)) or NONE
