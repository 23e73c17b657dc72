"""Every pod is made by the mutating policy that is in force at its revision, and by no other.

A policy of a world says in an annotation which label it sets (`sim.fairlead.dev/sets: KEY=VALUE`), and its binding has
its name. A pod that is created while both are there must carry that label with that value; one that is created while
no policy sets the label must not carry it, because no template of these worlds does. A policy, its change and its end
count from their own revision on: a create that was judged without is judged anew.
"""

from __future__ import annotations

from fairlead.model.kinds.admission import bindings, policies
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

SETS = "sim.fairlead.dev/sets"
_POLICIES, _BINDINGS = policies.MUTATING.resource, bindings.MUTATING.resource


class PoliciesAreFollowed:
    name = "policies-are-followed"
    sees = frozenset({_POLICIES, _BINDINGS, "pods"})

    def __init__(self) -> None:
        self._sets: dict[str, tuple[str, str]] = {}  # by policy: key and value of the label
        self._bound: dict[str, None] = {}
        self._keys: dict[str, None] = {}  # of labels that some policy has set

    def saw(self, sight: SeenChange) -> None:
        name = sight.key.name
        if sight.key.resource == _POLICIES:
            told = sight.last.metadata.annotations.get(SETS, "")
            key, _, value = told.partition("=")
            if sight.after is None or not told:
                self._sets.pop(name, None)
            else:
                self._sets[name] = (key, value)
                self._keys[key] = None
        elif sight.key.resource == _BINDINGS:
            if sight.after is None:
                self._bound.pop(name, None)
            else:
                self._bound[name] = None
        elif sight.key.resource == "pods" and sight.before is None and self._keys:
            self._judge(sight)

    def _judge(self, sight: SeenChange) -> None:
        labels = sight.last.metadata.labels
        wanted = {
            self._sets[policy][0]: (policy, self._sets[policy][1])
            for policy in self._sets
            if policy in self._bound
        }
        for key in self._keys:
            policy, value = wanted.get(key, ("", None))
            if labels.get(key) == value:
                continue
            by = f"policy {policy} in force sets {value!r}" if policy else "no policy in force sets it"
            raise Violation(
                self.name, f"pod {sight.key.name} was created with {key}={labels.get(key)!r}: {by}"
            )

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Pods are judged as they come."""
