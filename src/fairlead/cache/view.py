"""What a Decider reads: mirrors, read-only, remembering what was asked (decision.contract.Reading).

`control/` makes one per turn, which costs two small objects, hands it to `decide`, and puts `reads()` into the
record of the turn. Mirrors change only between turns, so one view sees one state. Nothing here waits for a mirror
to catch up; whoever makes the view has looked at `Mirror.synced` and `Mirror.passed` first.

Objects that could not be decoded are left out of what is read, and named by `missed()`: a decision that missed
something was made without knowing all, and is better not carried out. The same holds for a resource whose mirror is too
old to decide on (`Mirror.floor`), as that of a custom kind which nobody could list yet: it is named by a key without a
name. Its objects are not absent. Only what an object owns there is no longer waited for once the mirror is given up.

What was answered that neither the revisions read nor the store's history give back is told by `heard()`, so that the
record has it and the decision can be run again (`replay/past.py` reads it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from fairlead.cache.mirror import Mirror, Unreadable
from fairlead.cache.wall_clock import WallClock
from fairlead.decision.contract import FirstTurn, Sighting, Silent
from fairlead.decision.failure_detector import FailureDetector
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.selectors import LabelMatcher, from_object
from fairlead.model.views import PODS, Meta, Resource, View

T = TypeVar("T", bound=View)
FirstTurnsOf = Callable[
    [str], Mapping[str, FirstTurn]
]  # by uid of an override (`control/override_first_turns.py`)


class NotMirrored(Exception):
    """A Decider asked for a resource that it does not declare in `reads`."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"{resource} is not mirrored: a Decider declares all it reads")
        self.resource = resource


class MirrorView:
    """Reading over mirrors by resource name. Two resources with one name are one mirror."""

    __slots__ = (
        "_deleting",
        "_first",
        "_first_turns",
        "_mirrors",
        "_missed",
        "_reads",
        "_shown",
        "_sightings",
        "_silent",
        "_unshown",
        "_wall",
        "_walls",
    )

    def __init__(
        self,
        mirrors: Mapping[str, Mirror[Any]],
        wall: WallClock | None = None,
        first: FirstTurnsOf | None = None,
    ) -> None:
        self._mirrors = mirrors
        self._first = first
        self._first_turns: dict[str, Mapping[str, FirstTurn]] | None = None
        self._wall = wall
        self._walls: dict[float, float] | None = None
        self._reads: dict[str, tuple[int, int]] = {}
        self._unshown: dict[str, int] | None = None
        self._missed: dict[Key, None] | None = None
        self._sightings: dict[Key, Sighting | None] | None = None
        self._silent: dict[tuple[str, str, float], Silent] | None = None
        self._deleting: dict[Key, int] | None = None
        self._shown: dict[tuple[str, int], bool] | None = None  # where the revision read does not tell

    def get(self, resource: Resource[T], namespace: str, name: str) -> T | None:
        mirror = self._mirror(resource)
        if mirror.unreadable:
            self._miss(mirror, lambda each: (each.key.namespace, each.key.name) == (namespace, name))
        return mirror.index.get((resource.name, namespace, name))

    def list(self, resource: Resource[T], namespace: str = "") -> Sequence[T]:
        """In (namespace, name) order; namespace "" means all."""
        mirror = self._mirror(resource)
        if mirror.unreadable:
            self._miss(mirror, lambda each: namespace in ("", each.key.namespace))
        return mirror.index.in_namespace(namespace)

    def owned(self, resource: Resource[T], owner_uid: str, namespace: str = "") -> Sequence[T]:
        """Those with an ownerReference to this uid, in (namespace, name) order. Who owns a damaged object is not known,
        but that it is nobody in another namespace."""
        mirror = self._mirror(resource, patiently=True)
        if mirror.unreadable:
            self._miss(
                mirror,
                lambda each: (
                    namespace in ("", each.key.namespace)
                    and (each.damaged or any(o.uid == owner_uid for o in each.metadata.owner_references))
                ),
            )
        return mirror.index.owned_by(owner_uid)

    def on_node(self, node: str) -> Sequence[View]:
        """Pods bound to a node, in (namespace, name) order."""
        mirror = self._mirror(PODS)
        if mirror.unreadable:
            # Which node an unreadable pod is bound to is not known either.
            self._miss(mirror, lambda each: True)
        return mirror.index.on_node(node)

    def select(
        self, resource: Resource[T], namespace: str, selector: LabelMatcher | Json | None
    ) -> Sequence[T]:
        """Those in a namespace ("": all) with matching labels, in (namespace, name) order. A LabelSelector object
        may be given as it stands in a spec: {} selects all, None nothing, nonsense raises ValueError."""
        compiled = selector if isinstance(selector, LabelMatcher) else from_object(selector)
        mirror = self._mirror(resource)
        if mirror.unreadable:
            self._miss(
                mirror,
                lambda each: (
                    namespace in ("", each.key.namespace)
                    and (each.damaged or compiled.matches(each.metadata.labels))
                ),
            )
        return mirror.index.labelled(namespace, compiled)

    def sighting(self, resource: Resource[T], namespace: str, name: str) -> Sighting | None:
        """When the present version was first seen, and how long nothing newer was; None if it is not there."""
        key = Key(resource.name, namespace, name)
        found = self._hearing(resource).sighting(key)
        if self._sightings is None:
            self._sightings = {}
        self._sightings[key] = found
        return found

    def silent(self, resource: Resource[T], namespace: str, seconds: float) -> Silent:
        """Those of whom nothing new was seen for so long."""
        found = self._hearing(resource).silent(namespace, seconds)
        if self._silent is None:
            self._silent = {}
        self._silent[resource.name, namespace, seconds] = found
        return found

    def wall(self, at: float) -> float:
        """What the wall clock shows at this instant; the same without one, which is then never set."""
        shown = at if self._wall is None else self._wall.shown(at)
        if self._walls is None:
            self._walls = {}
        self._walls[at] = shown
        return shown

    @property
    def walls(self) -> Mapping[float, float]:
        """What was asked about the wall clock, and what was answered: not in any history either."""
        return self._walls or {}

    def heard(self) -> Json:
        """What was asked, and answered, that is not in any history, so the record keeps it:

        sightings  object -> [when its version was first seen, silent seconds], or null
        silent     who was silent: resource, namespace, seconds, next, names -> as in sightings
        deleting   object -> the first version of it that was seen being deleted
        shows      [resource, revision, whether it was shown], where the revision read does not tell
        firstTurns uid of an override -> controller -> what it first made of it
        missed     what could not be read
        wall       [instant, seconds that the wall clock was ahead then], where it was
        kinds      the revision of the definitions of custom kinds, where there were any
        """
        told: Json = {}
        if self._sightings:
            told["sightings"] = {
                "/".join(key): None if seen is None else list(seen) for key, seen in self._sightings.items()
            }
        if self._silent:
            told["silent"] = [
                {
                    "resource": name,
                    "namespace": namespace,
                    "seconds": seconds,
                    "next": silent.next_seconds,
                    "names": {each: list(sighting) for each, sighting in silent.names.items()},
                }
                for (name, namespace, seconds), silent in self._silent.items()
            ]
        if self._deleting:
            told["deleting"] = {"/".join(key): since for key, since in self._deleting.items()}
        if self._shown:
            told["shows"] = [[*asked, shown] for asked, shown in self._shown.items()]
        if self._first_turns:
            told["firstTurns"] = {
                uid: {name: list(each) for name, each in turns.items()}
                for uid, turns in self._first_turns.items()
            }
        if self._missed:
            told["missed"] = ["/".join(key) for key in self._missed]
        if self._wall is not None and self._walls:
            ahead = [[at, self._wall.ahead(at)] for at in self._walls]
            if any(seconds for _, seconds in ahead):
                told["wall"] = ahead
        definitions = self._mirrors.get(DEFINITIONS)
        if definitions is not None and definitions.index:
            told["kinds"] = definitions.revision
        return told

    def _hearing(self, resource: Resource[Any]) -> FailureDetector:
        hearing = self._mirror(resource).failure_detector
        if hearing is None:
            raise NotMirrored(f"{resource.name} in `dated`")
        return hearing

    def shows(self, resource: Resource[T], revision: int) -> bool:
        """Whether all that had happened to a resource by this revision is in the view."""
        mirror = self._mirror(resource)
        passed = mirror.passed(revision)
        if passed != (revision <= mirror.revision):
            self._shown = self._shown or {}
            self._shown[resource.name, revision] = passed
        if passed:
            return True
        if self._unshown is None:
            self._unshown = {}
        self._unshown[resource.name] = revision
        return False

    def deleting_since(self, resource: Resource[T], key: Key) -> int:
        """The first version of an object that was seen being deleted; 0: none was."""
        since = self._mirror(resource).deleting.get(key, 0)
        if since:
            self._deleting = self._deleting or {}
            self._deleting[key] = since
        return since

    def first_turns(self, uid: str) -> Mapping[str, FirstTurn]:
        """What controllers first made of an override, by controller."""
        found = dict(self._first(uid)) if self._first is not None else {}
        if found:
            self._first_turns = self._first_turns or {}
            self._first_turns[uid] = found
        return found

    def afresh(self) -> MirrorView:
        """The same mirrors for somebody else: nothing is noted here of what that one reads."""
        return MirrorView(self._mirrors, self._wall, self._first)

    @property
    def unshown(self) -> Mapping[str, int]:
        """Resources of which more was asked than is known to be shown, and up to which revision."""
        return self._unshown or {}

    def revision_of(self, key: Key) -> int:
        """The version of an object that is shown; 0: none. For the loop: no part of what a Decider reads."""
        mirror = self._mirrors.get(key.resource)
        return mirror.revision_of(key) if mirror is not None else 0

    def lacks(self, key: Key) -> bool:
        """Whether the resource is shown, and no such object of it. For the loop, like `revision_of`."""
        mirror = self._mirrors.get(key.resource)
        return mirror is not None and not mirror.revision_of(key)

    def metadata_of(self, key: Key) -> Meta | None:
        """Of an object that is shown. For the record: no part of what a Decider reads."""
        mirror = self._mirrors.get(key.resource)
        found: Any = mirror.index.get(key) if mirror is not None else None
        meta: Meta | None = found.metadata if found is not None else None
        return meta

    def reads(self) -> dict[str, tuple[int, int]]:
        """Resource read -> (revision used, newest revision known then), in the order of first use."""
        return dict(self._reads)

    def missed(self) -> tuple[Key, ...]:
        """What would have been read but could not be decoded, in the order of asking."""
        return () if self._missed is None else tuple(self._missed)

    def _mirror(self, resource: Resource[T], *, patiently: bool = False) -> Mirror[T]:
        name = resource.name
        mirror = self._mirrors.get(name)
        if mirror is None:
            raise NotMirrored(name)
        if mirror.revision < mirror.floor and not (patiently and mirror.is_given_up):
            mirror.is_awaited = True
            self._missed = self._missed or {}
            self._missed[Key(name, "", "")] = None
        if name not in self._reads:
            self._reads[name] = (mirror.revision, mirror.newest_seen)
        return mirror

    def _miss(self, mirror: Mirror[Any], asked: Callable[[Unreadable], bool]) -> None:
        for key, each in sorted(mirror.unreadable.items()):
            if asked(each):
                if self._missed is None:
                    self._missed = {}
                self._missed[key] = None
