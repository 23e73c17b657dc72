"""Which plugins judge, in which order and with which weight: a SchedulingPolicy as the scheduler uses it.

Frozen and named with its revision: every attempt says under which policy it was made. `control/` makes one from the
SchedulingPolicy in use (`registry.py`); without one `default_policy` holds, which is Kubernetes' own choice.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.schedule.contract import Plugin


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    revision: int  # the generation of the object; 0: built in
    plugins: tuple[Plugin, ...]  # filters in this order
    weights: dict[str, int] = field(default_factory=dict)  # of scores; a plugin without one does not score
    uid: str = ""  # of the object: another of the same name may have the same generation

    @property
    def identity(self) -> tuple[str, str, int]:
        return self.name, self.uid, self.revision

    def weight(self, plugin: Plugin) -> int:
        return self.weights.get(plugin.name, 0)
