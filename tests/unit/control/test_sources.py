"""Which mirrors a plane has as definitions come, change and go, and which of them may be decided on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.cache import events as mirrored
from fairlead.control.instructions import AskProgress, Forget
from fairlead.control.plane import Plane
from fairlead.control.roster import collecting_deciders
from fairlead.control.sources import ASK_AGAIN_SECONDS, MirrorSources
from fairlead.decision.contract import Decision
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.served import Served
from fairlead.model.views import NAMESPACES, PODS, Stored
from fairlead.port.driving import Started, Woke
from fairlead.store.contract import Entry

NAME = "beacons.example.com"
FENCE = 40


def stored(key: Key, body: dict[str, Any], revision: int = 3) -> Stored:
    return Stored.of(key, "uid", revision, json.dumps(body).encode())


def definition(name: str = NAME, *versions: str, established: bool = True) -> Stored:
    plural, _, group = name.partition(".")
    each = [{"name": version, "served": True, "storage": False} for version in versions or ("v1",)]
    names = {"plural": plural, "kind": plural.capitalize()}
    status = {"conditions": [{"type": "Established", "status": str(established)}]}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": each}
    body = {"metadata": {"name": name}, "spec": spec, "status": status}
    return stored(Key("customresourcedefinitions.apiextensions.k8s.io", "", name), body)


def made(*, finalizes: bool = False) -> tuple[MirrorSources, Served]:
    kinds = Served(kind for kind in CATALOG if kind.resource != "reservations.fairlead.dev")
    sources = MirrorSources(collecting_deciders(kinds), None, finalizes=finalizes)
    return sources, kinds


def fill(sources: MirrorSources, name: str, revision: int = 5, *objects: str) -> None:
    mirror = sources.mirrors[name]
    mirror.handle(Started(0.0))
    body = b"{}"
    entries = tuple(Entry(Key(name, "default", each), f"uid-{each}", revision, body) for each in objects)
    mirror.handle(mirrored.Listed(revision, entries, 0.0))


def test_a_plane_is_ready_without_custom_kinds_and_decisions_on_them_wait() -> None:
    sources, _ = made()
    for name in list(sources.mirrors):
        fill(sources, name)
    assert sources.learn(NAME, definition()).mirrored == (NAME,)
    assert sources.synced
    view = sources.view()
    resource = sources.mirrors[NAME].resource
    assert view.get(resource, "default", "a") is None
    assert view.missed() == (Key(NAME, "", ""),)
    fill(sources, NAME, 6, "a")
    again = sources.view()
    assert again.get(resource, "default", "a") is not None
    assert again.missed() == ()


def test_dependents_of_a_kind_that_stays_unlisted_are_not_waited_for_for_ever_but_owners_are() -> None:
    sources, _ = made()
    sources.learn(NAME, definition())
    mirror = sources.mirrors[NAME]
    mirror.handle(Started(0.0))
    now, waited = 0.0, 0
    while not mirror.is_given_up:
        view = sources.view()
        view.owned(mirror.resource, "uid")
        assert view.missed(), "it may answer yet"
        mirror.handle(mirrored.ListFailed("403", now))
        now, waited = now + 60.0, waited + 1
        mirror.handle(Woke(now, 0.5))
    assert waited > 3
    view = sources.view()
    view.owned(mirror.resource, "uid")
    assert not view.missed()
    view.get(mirror.resource, "default", "a")
    assert view.missed()


def test_a_new_leader_waits_for_all_kinds_but_custom_ones_whose_readers_wait() -> None:
    sources, _ = made()
    sources.learn(NAME, definition())
    for name in list(sources.mirrors):
        fill(sources, name, FENCE if name not in (NAME, "pods") else FENCE - 1)
    assert sources.behind(FENCE) == (("pods",), (NAME,))
    view = sources.view()
    view.list(sources.mirrors[NAME].resource)
    assert view.missed()
    sources.mirrors[NAME].handle(mirrored.Marked(FENCE, 0.0))
    assert sources.behind(FENCE) == (("pods",), ())


@pytest.mark.parametrize("finalizes", [True, False])
def test_the_kinds_of_a_definition_that_went_are_known_for_a_while_where_nobody_else_sees_to_their_dependents(
    finalizes: bool,
) -> None:
    sources, kinds = made(finalizes=finalizes)
    sources.learn(NAME, definition())
    fill(sources, NAME, 5, "a", "b")
    learned = sources.learn(NAME, None)
    assert learned.instructions == (Forget(NAME),)
    if finalizes:
        assert NAME not in sources.mirrors
        assert not learned.changes
        return
    ((name, changes),) = learned.changes
    assert (name, [each.key.name for each in changes]) == (NAME, ["a", "b"])
    assert all(each.after is None for each in changes)
    view = sources.view()
    assert view.list(sources.mirrors[NAME].resource) == ()
    assert not view.missed(), "that they are gone is known"
    assert view.shows(sources.mirrors[NAME].resource, 1000), "and that there will be no more"
    assert kinds.find_kind("example.com", "v1", "Beacons") is not None
    assert sources.address_of(NAME) is None
    assert sources.behind(FENCE)[1] == ()
    assert sources.learn(NAME, definition(established=False)).mirrored == (), "not before it is served again"
    assert sources.learn(NAME, definition()).mirrored == (NAME,)
    assert sources.address_of(NAME) == ("example.com", "v1")
    assert sources.mirrors[NAME].floor == 1


def test_of_kinds_that_went_the_last_few_are_known() -> None:
    sources, kinds = made()
    before = set(sources.mirrors)
    for number in range(40):
        name = f"k{number}.example.com"
        sources.learn(name, definition(name))
        sources.learn(name, None)
    assert set(sources.mirrors) - before == {f"k{number}.example.com" for number in range(24, 40)}
    assert len(kinds.custom) == 16


def test_a_kind_is_followed_in_a_version_that_is_served() -> None:
    sources, _ = made()
    sources.learn(NAME, definition(NAME, "v1"))
    assert sources.learn(NAME, definition(NAME, "v1", "v2")) == ((), (), ())
    learned = sources.learn(NAME, definition(NAME, "v2"))
    assert (learned.instructions, learned.mirrored) == ((Forget(NAME),), (NAME,))
    assert sources.mirrors[NAME].resource.api_version == "example.com/v2"
    assert sources.learn(NAME, definition(NAME, "v2", established=False)).instructions == (Forget(NAME),)
    assert NAME not in sources.mirrors


def test_definitions_of_our_own_kinds_are_no_custom_kinds() -> None:
    """As `fairlead kinds` installs them beside Kubernetes: what was there at the start is followed already."""
    sources, kinds = made()
    assert sources.learn("placementquotas.fairlead.dev", definition("placementquotas.fairlead.dev")) == (
        (),
        (),
        (),
    )
    assert kinds.custom == ()


def test_a_mirror_that_a_decision_waits_for_is_asked_for_again_when_it_moved_or_after_a_while() -> None:
    sources, _ = made()
    sources.learn(NAME, definition())
    fill(sources, NAME, 5)
    asked = AskProgress(NAME, 9)
    assert sources.ask_soon(asked, 10.0) == (asked,)
    assert sources.ask_soon(asked, 11.0) == ()
    sources.mirrors[NAME].handle(mirrored.Marked(6, 11.0))
    assert sources.ask_soon(asked, 11.0) == (asked,)
    assert sources.ask_soon(asked, 11.0 + ASK_AGAIN_SECONDS) == (asked,)
    assert sources.ask_soon(AskProgress("nothing.example.com", 9), 10.0) == ()


def test_a_wake_that_waits_for_a_deletion_is_asked_from_its_first_to_its_last() -> None:
    asked: list[Key] = []

    def keys(event: WatchEvent[Any]) -> tuple[Key, ...]:
        asked.append(event.key)
        return ()

    wake = Wake(PODS, keys, while_leaving=NAMESPACES)
    decider = Decider(
        name="emptier", reads=(NAMESPACES, PODS), wakes=(wake,), decide=lambda view, key, now: Decision()
    )
    plane = Plane("me", (decider,))
    space = Key("namespaces", "", "default")
    plane.handle(Started(0.0))
    for name in list(plane.mirrors):
        plane.handle(mirrored.Mirrored(name, (mirrored.Listed(3, (), 0.0),)))

    def hears(key: Key, revision: int, kind: str = "MODIFIED", **metadata: str) -> int:
        body = {"metadata": {"name": key.name, "namespace": key.namespace, "uid": "uid", **metadata}}
        entry = Entry(key, "uid", revision, json.dumps(body).encode())
        before = len(asked)
        plane.handle(mirrored.Mirrored(key.resource, (mirrored.Framed(kind, entry, 0.0),)))
        return len(asked) - before

    pod = Key("pods", "default", "a")
    hears(space, 4)
    assert hears(pod, 5) == 0
    hears(space, 6, deletionTimestamp="2026-01-01T00:00:00Z")
    assert hears(pod, 7) == 1
    hears(space, 8, "DELETED", deletionTimestamp="2026-01-01T00:00:00Z")
    assert hears(pod, 9) == 0
