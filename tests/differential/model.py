"""What must become of fields that several managers write: values and owners, in the shortest way to say it.

Used by `test_models.py` against the API. From the documentation: an applier owns what it last applied; what it leaves
out goes if nobody else owns it, and an item of a list goes with all that is in it; changing what another entry owns is
a conflict, or with force takes it; an update takes what it changes and never conflicts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Map = dict[str, Any]


@dataclass
class Model:
    values: Map = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)  # "MANAGER OPERATION" -> fields

    def apply(self, manager: str, config: Map, force: bool) -> set[tuple[str, str]]:
        """The conflicts, as (entry, key); none if it was done."""
        me = f"{manager} Apply"
        others = {name: keys for name, keys in self.owners.items() if name != me}
        left_out = self.owners.get(me, set()) - set(config)
        gone = {key for key in left_out if not any(key in keys for keys in others.values())}
        gone |= {key for key in self.values if any(key.startswith(f"{item}.") for item in gone)}
        changed = {key for key, value in config.items() if self.values.get(key) != value}
        conflicts = {(name, key) for name, keys in others.items() for key in keys & changed}
        if conflicts and not force:
            return conflicts
        self.values = {key: value for key, value in {**self.values, **config}.items() if key not in gone}
        self._own(changed | gone, me, set(config))
        return set()

    def update(self, manager: str, values: Map) -> None:
        me = f"{manager} Update"
        changed = {key for key, value in values.items() if self.values.get(key) != value}
        gone = set(self.values) - set(values)
        self.values = dict(values)
        kept = self.owners.get(me, set()) - gone
        self._own(changed | gone, me, kept | changed)

    def _own(self, taken: set[str], me: str, mine: set[str]) -> None:
        kept = {name: keys - taken for name, keys in self.owners.items()}
        self.owners = {name: keys for name, keys in {**kept, me: mine}.items() if keys}
