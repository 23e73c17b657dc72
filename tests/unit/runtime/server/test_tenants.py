"""What a tenant needs to read a document about the whole plane, and which lines of its logs are theirs."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairlead.api.access.authz import builtin_chain
from fairlead.api.access.contract import Attributes
from fairlead.api.access.sight import Sight
from fairlead.api.access.users import User
from fairlead.api.discovery import Discovery
from fairlead.api.plan import Context
from fairlead.core.errors import Forbidden
from fairlead.model.files import load_tables
from fairlead.model.key import Key
from fairlead.model.served import Served
from fairlead.port.request import Reply
from fairlead.runtime.server import extensions
from fairlead.runtime.server.tenants import (
    any_tenant,
    place_of,
    place_of_key,
    who_may_create_the_pods,
    who_may_get_the_pod,
    without_others,
)
from fairlead.store.contract import Batch, Note
from fairlead.store.memory import MemoryJournal
from fairlead.wire.documents import Asked, Documents, Mounted
from fairlead.wire.exchange import Exchange
from fairlead.wire.openapi import OpenApi
from tests.inprocess import InProcess
from tests.unit.api.access.granting import Objects, change_of, default_grants, grants_of
from tests.unit.api.access.test_sight import JANE, role, rule, sight_of
from tests.unit.control.driving import Driver
from tests.unit.control.test_health import stubborn
from tests.unit.control.test_plane import DEPLOYMENTS, deployment

NOBODY = User("nobody", groups=("system:authenticated",))
WORK = role("team-a", rule("pods"), rule("pods", verb="create"), rule("deployments", group="apps"))


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ({"object": "pods/team-a/web"}, ("pods", "team-a", "web")),
        ({"object": "deployments.apps/team-a/web"}, ("deployments.apps", "team-a", "web")),
        ({"object": "nodes/n1"}, ("", "", "")),
        ({"object": ""}, ("", "", "")),
        ({}, ("", "", "")),
        ({"object": {"resource": "pods", "namespace": "team-a", "name": "web", "uid": "u"}}, ("pods", "team-a", "web")),
        ({"object": {"group": "apps", "resource": "deployments", "namespace": "a", "name": "w"}}, ("deployments.apps", "a", "w")),
        ({"object": {"resource": "nodes", "name": "n1"}}, ("", "", "")),
        ({"object": {"resource": "pods", "namespace": "team-a"}}, ("pods", "team-a", "")),
    ],
)  # fmt: skip
def test_what_a_line_is_about(line: Any, place: tuple[str, str, str]) -> None:
    assert place_of(json.dumps({"user": "x", **line}).encode()) == place


def test_what_has_no_namespace_is_of_nobody() -> None:
    assert place_of_key("clusterroles.rbac.authorization.k8s.io/admin") == ("", "", "")
    assert not sight_of(*WORK).sees(*place_of_key("nodes/n1"))


def note(**record: Any) -> Note:
    return Note("decisions", json.dumps(record).encode())


def test_a_line_names_no_pod_of_others() -> None:
    victims = [{"key": ["pods", space, "p"], "uid": "u"} for space in ("team-a", "team-b")]
    masked = json.loads(without_others(note(object="pods/team-a/web", victims=victims), sight_of(*WORK)).body)
    assert [each["key"] for each in masked["victims"]] == [["pods", "team-a", "p"], ["pods", "*", "*"]]
    plain = note(object="pods/team-a/web")
    assert without_others(plain, sight_of(*WORK)) is plain


def test_a_tenant_is_whoever_has_a_role_in_a_namespace() -> None:
    needs = any_tenant(grants_of(*WORK))
    assert needs(JANE, "/", b"") == ()
    assert needs(NOBODY, "/", b"") is None


def test_a_pod_is_explained_to_whoever_may_get_it() -> None:
    needs = who_may_get_the_pod("/explain")
    for path in ("/explain/team-a/web", "/explain/team-a/web/n1"):
        assert needs(JANE, path, b"") == (
            Attributes(user=JANE, verb="get", version="v1", plural="pods", namespace="team-a", name="web"),
        )
    assert needs(JANE, "/explain", b"") is None
    assert needs(JANE, "/explain/team-a", b"") is None


def asked(*spaces: str) -> bytes:
    return json.dumps({"items": [{"pod": {"metadata": {"namespace": each}}} for each in spaces]}).encode()


def test_a_plan_is_made_for_whoever_may_create_the_pods() -> None:
    found = who_may_create_the_pods(JANE, "/plan", asked("b", "a", "b"))
    assert found is not None
    assert [(each.verb, each.plural, each.namespace) for each in found] == [
        ("create", "pods", "a"),
        ("create", "pods", "b"),
    ]
    assert who_may_create_the_pods(JANE, "/plan", b'{"items":[]}') is None
    for body in (b"", b"[]", b'{"items":5}', b'{"items":[{"pod":{"metadata":null}}]}'):
        assert who_may_create_the_pods(JANE, "/plan", body) is None


class Plane:
    """Documents that say what their reader sees, over the real authorizer."""

    def __init__(self) -> None:
        served, grants = Served(), default_grants()
        for each in WORK:
            grants.observe([change_of(each)])
        tenant = any_tenant(grants)
        seen = {
            "/logs": Mounted(self._answer, tenant),
            "/explain": Mounted(self._answer, who_may_get_the_pod("/explain")),
            "/metrics": Mounted(self._answer),
        }
        self.documents = Documents(
            Discovery(served),
            builtin_chain(Objects(), grants),
            "here:1",
            {},
            OpenApi(served, load_tables(), "v1"),
            seen,
            {"/plan": Asked(self._asked, who_may_create_the_pods)},
        )

    def _answer(self, path: str, query: Any, context: Context, sight: Sight) -> Reply:
        return Reply(200, json.dumps({"whole": sight.is_whole}).encode())

    def _asked(self, body: bytes, context: Context, sight: Sight) -> Reply:
        return self._answer("", {}, context, sight)

    def whole(self, user: User, path: str, method: bytes = b"GET", body: bytes = b"") -> bool:
        found: list[bytes] = []
        exchange = SimpleNamespace(
            method=method,
            target=b"",
            body=body,
            headers={},
            respond=lambda status, media, body, extra: found.append(body),
        )
        self.documents.answer(cast(Exchange, exchange), path, {}, Context(user, 0.0, b""))
        return bool(json.loads(found[0])["whole"])


def test_a_tenant_sees_a_part_a_master_all_and_nobody_nothing() -> None:
    plane, masters = Plane(), User("admin", groups=("system:masters",))
    for path in ("/logs", "/explain/team-a/web"):
        assert plane.whole(JANE, path) is False
        assert plane.whole(masters, path) is True
        with pytest.raises(Forbidden):
            plane.whole(NOBODY, path)
    with pytest.raises(Forbidden, match="team-b"):
        plane.whole(JANE, "/explain/team-b/web")
    with pytest.raises(Forbidden):
        plane.whole(JANE, "/metrics")
    assert plane.whole(JANE, "/plan", b"POST", asked("team-a")) is False
    for body in (asked("team-a", "team-b"), asked(""), asked()):
        with pytest.raises(Forbidden):
            plane.whole(JANE, "/plan", b"POST", body)
    with pytest.raises(Forbidden):
        plane.whole(NOBODY, "/plan", b"POST", asked("team-a"))


def journal_of(*notes: Note) -> MemoryJournal:
    journal = MemoryJournal()
    journal.recover()
    journal.append(Batch((), notes, 0.0))
    return journal


def test_pages_of_a_log_tell_how_many_lines_are_of_others() -> None:
    spaces = ("team-a", "team-b", "team-b", "team-a", "team-b")
    notes = [Note("audit", json.dumps({"object": f"pods/{each}/p"}).encode()) for each in spaces]
    answer = extensions.lines(journal_of(*notes), "audit")

    def page(after: int, sight: Sight) -> Any:
        reply = answer("/", {"after": str(after), "limit": "2"}, Context(JANE, 0.0, b""), sight)
        assert isinstance(reply, Reply)
        return json.loads(reply.body)

    sight, after, pages = sight_of(*WORK), 0, []
    for _ in range(4):
        found = page(after, sight)
        pages.append((len(found["items"]), found["hidden"], found["last"] > after))
        after = found["last"]
    assert pages == [(1, 1, True), (1, 1, True), (0, 1, True), (0, 0, False)]
    assert "hidden" not in page(0, Sight())


def queues_of(driver: Driver, sight: Sight) -> Any:
    answer = extensions.queues(lambda: driver.plane, lambda: driver.now)
    reply = answer(extensions.QUEUES, {}, driver.api.context(), sight)
    assert isinstance(reply, Reply)
    return json.loads(reply.body)


def test_queues_name_no_key_of_others_and_count_all() -> None:
    driver = Driver(InProcess(), deciders=(stubborn("deployment", 1), stubborn("replicaset", 2)))
    driver.api.post(DEPLOYMENTS, deployment(3))
    driver.run(20)
    queue = driver.plane.controllers[0].queue
    for name in ("working", "waiting"):
        queue.add(Key("deployments.apps", "default", name), driver.now)
    queue.pop(driver.now)
    whole = queues_of(driver, Sight())
    theirs = queues_of(driver, sight_of(*role("default", rule("deployments", group="apps"))))
    others = queues_of(driver, sight_of(*role("team-a", rule("deployments", group="apps"))))
    assert whole["writeLoops"]
    assert theirs == whole
    assert others["writeLoops"] == []
    shown, hidden = whole["items"][0]["queue"], others["items"][0]["queue"]
    for named in ("oldest_waiting", "longest_running"):
        assert (bool(shown[named]), bool(hidden[named])) == (True, False)
    assert (hidden["depth"], hidden["in_progress"]) == (shown["depth"], shown["in_progress"])
    assert '"default"' not in json.dumps(others["items"])
