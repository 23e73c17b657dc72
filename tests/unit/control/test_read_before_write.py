"""What goes out to an API that judges nothing in the transaction: what is read first, what is sent, what is held back."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from fairlead.control.instructions import Call
from fairlead.control.read_before_write import Narrow, Versions
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.port.capabilities import KUBERNETES, Capabilities
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown
from fairlead.port.request import Request

OWNER = Premise(Key("replicasets.apps", "default", "web"), 7)
ABSENT = Premise(Key("nodes", "", "gone"), 0)
CUSTOM = Premise(Key("beacons.example.org", "default", "b"), 0)


class Door:
    def __init__(self, capabilities: Capabilities = KUBERNETES, quotas: Versions | None = None) -> None:
        self.leads = True
        self.numbers = itertools.count(100)
        known = quotas or {}
        self.narrow = Narrow(
            capabilities,
            lambda: next(self.numbers),
            lambda now: self.leads,
            lambda _: known,
            lambda call: call,
            {"beacons.example.org": ("example.org", "v2")}.get,
        )

    def send(self, request: Request) -> tuple[Call, ...]:
        return tuple(
            each for each in self.narrow.outgoing(Call(1, "c", request), 5.0) if isinstance(each, Call)
        )

    def answer(self, call: int, outcome: Outcome) -> tuple[Call, ...]:
        assert self.narrow.answers(call)
        found = self.narrow.answered(call, outcome, 6.0)
        return tuple(each for each in found if isinstance(each, Call))


def creating(*premises: Premise) -> Request:
    return Request("create", "", "v1", "pods", "default", body=b"{}", premises=premises)


def binding(annotations: dict[str, str] | None = None) -> Request:
    body: dict[str, Any] = {"metadata": {"name": "p", "uid": "u"}, "target": {"kind": "Node", "name": "n"}}
    if annotations:
        body["metadata"]["annotations"] = annotations
    return Request(
        verb="create",
        group="",
        version="v1",
        plural="pods",
        namespace="default",
        name="p",
        subresource="binding",
        body=json.dumps(body).encode(),
    )


def shown(revision: int, name: str = "web") -> Done:
    return Done(revision, json.dumps({"metadata": {"name": name, "resourceVersion": str(revision)}}).encode())


def listed(**revisions: int) -> Done:
    items = [{"metadata": {"name": name, "resourceVersion": str(at)}} for name, at in revisions.items()]
    return Done(9, json.dumps({"metadata": {"resourceVersion": "9"}, "items": items}).encode())


NOT_FOUND = Refused(404, "NotFound", "not there")


@pytest.mark.parametrize(
    ("premise", "found", "then"),
    [
        (OWNER, shown(7), "sent"),
        (OWNER, shown(8), "Conflict"),
        (OWNER, NOT_FOUND, "Conflict"),
        (ABSENT, NOT_FOUND, "sent"),
        (ABSENT, shown(3, "gone"), "Conflict"),
        (OWNER, Unknown("no answer"), "later"),
        (OWNER, Refused(403, "Forbidden", "no"), "later"),
        (CUSTOM, shown(7, "b"), "Conflict"),
        (CUSTOM, Refused(404, "NotFound", 'beacons.example.org "b" not found', name="b"), "sent"),
        (CUSTOM, Refused(404, "NotFound", "the server could not find the requested resource"), "later"),
        (CUSTOM, Refused(404, "", "404 page not found"), "later"),
    ],
)
def test_what_a_write_rests_on_is_read_before_it(premise: Premise, found: Outcome, then: str) -> None:
    door = Door()
    (look,) = door.send(creating(premise))
    assert look.request.verb == "get"
    assert look.request.name == premise.key.name
    sent = door.answer(look.call, found)
    settled = door.narrow.take()
    if then == "sent":
        ((write,), expected) = sent, ()
        assert write.call == 1
        assert write.request.premises == ()
        assert tuple(settled) == expected
    else:
        assert sent == ()
        ((call, outcome),) = settled
        assert call == 1
        assert isinstance(outcome, Conflict) if then == "Conflict" else outcome.retry == "later"  # type: ignore[union-attr]


def test_an_object_of_a_custom_kind_is_read_in_the_version_that_is_followed() -> None:
    (look,) = Door().send(creating(CUSTOM))
    request = look.request
    assert (request.group, request.version, request.plural) == ("example.org", "v2", "beacons")


def test_of_a_kind_whose_definition_went_nothing_has_to_be_read() -> None:
    (write,) = Door().send(creating(Premise(Key("gone.example.org", "default", "g"), 0)))
    assert write.call == 1


def test_several_premises_are_read_one_after_the_other_and_all_must_hold() -> None:
    door = Door()
    (first,) = door.send(creating(OWNER, ABSENT))
    (second,) = door.answer(first.call, shown(7))
    assert (first.request.plural, second.request.plural) == ("replicasets", "nodes")
    (write,) = door.answer(second.call, NOT_FOUND)
    assert write.call == 1


def test_of_neighbours_that_are_to_stay_only_the_first_are_read() -> None:
    """A deletion of a surplus pod names up to sixty pods that stay; its owner, and what must be gone, is always read."""
    door = Door()
    stay = [Premise(Key("pods", "default", f"p-{number}"), number + 1) for number in range(60)]
    gone = [Premise(Key("pods", "default", f"o-{number}"), 0) for number in range(5)]
    request = Request(
        verb="delete",
        group="",
        version="v1",
        plural="pods",
        namespace="default",
        name="p",
        premises=(OWNER, *stay, *gone),
    )
    (look,) = door.send(request)
    read = []
    while look.call != 1:
        read.append(look.request.name)
        revision = 7 if look.request.name == "web" else int(look.request.name.partition("-")[2]) + 1
        found = NOT_FOUND if look.request.name.startswith("o-") else shown(revision, look.request.name)
        (look,) = door.answer(look.call, found)
    assert read == ["web", "p-0", "p-1", "p-2", "o-0", "o-1", "o-2", "o-3", "o-4"]
    assert look.request.premises == ()


def test_nothing_is_sent_when_the_time_as_leader_is_over_also_if_it_ends_during_the_look() -> None:
    door = Door()
    (look,) = door.send(creating(OWNER))
    door.leads = False
    assert door.answer(look.call, shown(7)) == ()
    assert (
        door.send(
            Request(verb="delete", group="", version="v1", plural="pods", namespace="default", name="p")
        )
        == ()
    )
    assert [type(outcome) for _, outcome in door.narrow.take()] == [Conflict, Conflict]
    read = Request(verb="get", group="", version="v1", plural="pods", namespace="default", name="p")
    assert [each.request for each in door.send(read)] == [read], "looking is always allowed"


@pytest.mark.parametrize(
    ("found", "is_sent"),
    [
        (listed(team=4), True),
        (listed(team=5), False),
        (listed(team=4, new=8), False),
        (listed(), False),
        (NOT_FOUND, False),
    ],
)
def test_quotas_are_read_anew_before_a_binding(found: Outcome, is_sent: bool) -> None:
    door = Door(quotas={"team": 4})
    (look,) = door.send(binding())
    assert (look.request.verb, look.request.plural, look.request.namespace) == (
        "list",
        "placementquotas",
        "default",
    )
    assert bool(door.answer(look.call, found)) is is_sent
    assert bool(door.narrow.take()) is not is_sent


def test_where_no_quotas_are_served_a_binding_goes_out_at_once() -> None:
    lacking = Capabilities(False, False, False, frozenset({"placementquotas.fairlead.dev"}))
    (write,) = Door(lacking).send(binding())
    assert (write.call, write.request.subresource) == (1, "binding")


def test_a_binding_says_in_a_plain_annotation_which_reservation_it_used() -> None:
    lacking = Capabilities(False, False, False, frozenset({"placementquotas.fairlead.dev"}))
    (write,) = Door(lacking).send(binding({"fairlead.dev/reservation": "room"}))
    assert json.loads(write.request.body)["metadata"]["annotations"] == {"fairlead.dev/bound-with": "room"}


def finalizing() -> Request:
    return Request(
        verb="update",
        group="",
        version="v1",
        plural="namespaces",
        namespace="",
        name="team",
        subresource="finalize",
        body=b"{}",
    )


def definitions(*plurals: str, version: str = "v1", established: str = "True") -> Done:
    versions = [{"name": "v0", "served": False}, {"name": version, "served": True}]
    spec = {"group": "example.org", "scope": "Namespaced", "versions": versions}
    status = {"conditions": [{"type": "Established", "status": established}]}
    items = [{"spec": {**spec, "names": {"plural": each}}, "status": status} for each in plurals]
    return Done(9, json.dumps({"items": items}).encode())


WIDGETS = replace(KUBERNETES, namespaced=(("example.org", "v0", "widgets"),))


def test_a_namespace_is_searched_for_a_custom_kind_in_the_version_that_is_served_now() -> None:
    door = Door(WIDGETS)
    (look,) = door.send(finalizing())
    (widgets,) = door.answer(look.call, definitions("widgets", version="v2"))
    assert widgets.request.version == "v2"
    assert door.answer(widgets.call, Refused(404, "", "404 page not found")) == ()
    ((_, refused),) = door.narrow.take()
    assert isinstance(refused, Refused)
    assert refused.retry == "later", "it is defined: that it is not served just now does not make it empty"


def test_a_definition_that_was_never_established_keeps_no_namespace() -> None:
    door = Door()
    (look,) = door.send(finalizing())
    (write,) = door.answer(look.call, definitions("widgets", established="False"))
    assert write.call == 1


def test_a_namespace_is_finalized_only_when_nothing_is_left_of_any_kind() -> None:
    door = Door(replace(KUBERNETES, namespaced=(("rbac.authorization.k8s.io", "v1", "roles"),)))
    (look,) = door.send(finalizing())
    assert look.request.plural == "customresourcedefinitions"
    (roles,) = door.answer(look.call, definitions("widgets"))
    assert (roles.request.verb, roles.request.plural, roles.request.namespace) == ("list", "roles", "team")
    (widgets,) = door.answer(roles.call, listed())
    assert (widgets.request.group, widgets.request.plural) == ("example.org", "widgets")
    (delete,) = door.answer(widgets.call, listed(left=3))
    assert (delete.request.verb, delete.request.plural) == ("deletecollection", "widgets")
    assert door.answer(delete.call, Done()) == ()
    ((call, refused),) = door.narrow.take()
    assert call == 1
    assert isinstance(refused, Refused)
    assert refused.retry == "later"

    (look,) = door.send(finalizing())
    (roles,) = door.answer(look.call, definitions())
    (write,) = door.answer(roles.call, listed())
    assert (write.call, write.request.subresource) == (1, "finalize")
