"""Plugins made wrong on purpose: what the comparison with the oracle must notice.

Most mutations wrap a plugin and lie to it: about the pod (`of_facts`), about the cluster (`lied`), or about its
answer (`of_answer`). So they know nothing of how a plugin is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from fairlead.schedule.contract import Plugin, Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.policy import Policy
from fairlead.schedule.registry import default_policy
from fairlead.schedule.snapshot import Snapshot

Lie = Callable[[Any], Any]


class Lied:
    """A plugin that is told lies, or whose answers are changed."""

    def __init__(self, plugin: Plugin, facts: Lie, snapshot: Lie, answer: Lie) -> None:
        self._plugin, self._facts, self._snapshot, self._answer = plugin, facts, snapshot, answer
        self.name, self.wakes_on = plugin.name, plugin.wakes_on
        self.evicting_helps, self.concerns = plugin.evicting_helps, plugin.concerns

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        prepared = self._plugin.prepare(self._snapshot(snapshot), self._facts(facts))
        found: Prepared | None = None if prepared is None else self._answer(prepared)
        return found


class Changed:
    """Something with some attributes replaced: an answer, a snapshot or a part of one."""

    def __init__(self, real: Any, **changes: Any) -> None:
        self._real = real
        self.__dict__.update(changes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _truth(value: Any) -> Any:
    return value


def lied(name: str, facts: Lie = _truth, snapshot: Lie = _truth, answer: Lie = _truth) -> Policy:
    """The default policy with one plugin made wrong."""
    policy = default_policy()
    assert name in {each.name for each in policy.plugins}
    plugins: list[Any] = [
        Lied(each, facts, snapshot, answer) if each.name == name else each for each in policy.plugins
    ]
    return replace(policy, plugins=tuple(plugins))


def of_facts(name: str, **changes: Callable[[Facts], Any]) -> Policy:
    """The plugin sees pods whose facts are changed: field -> its value, made of the true facts."""
    return lied(name, lambda facts: replace(facts, **{field: new(facts) for field, new in changes.items()}))


def of_items(name: str, field: str, change: Callable[[Any], Any]) -> Policy:
    """The same for facts that are lists: every item is changed."""
    return of_facts(name, **{field: lambda facts: tuple(map(change, getattr(facts, field)))})


def of_answer(name: str, **changes: Callable[[Prepared], Any]) -> Policy:
    return lied(
        name, answer=lambda real: Changed(real, **{method: new(real) for method, new in changes.items()})
    )


def of_scores(name: str, change: Callable[[Any], Any]) -> Policy:
    def scores(real: Prepared) -> Any:
        def changed(open_slots: Any) -> Any:
            found = real.scores(open_slots)
            return None if found is None else change(found)

        return changed

    return of_answer(name, scores=scores)


def without_filter(name: str) -> Policy:
    return of_answer(name, mask=lambda real: lambda: None)


def without_touching(name: str) -> Policy:
    """The plugin is not told of the placements of its batch."""
    return of_answer(name, touched=lambda real: lambda change: False)


def reversed_scores(scores: Any) -> Any:
    return 100 - scores


def without_symmetry(snapshot: Snapshot) -> Any:
    """A snapshot in which no pod asks anything of others."""

    def nobody() -> Iterator[Any]:
        return iter(())

    return Changed(snapshot, matching=Changed(snapshot.matching, holdings=nobody))
