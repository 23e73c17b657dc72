"""managedFields of every write: kept, reset, left alone; how they are stored; and what they must not disturb."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from fairlead.api import objects
from fairlead.api.apply.managing import Managing, stored_entries
from fairlead.model.apply.managers import UPDATE_ENTRIES_MAX
from fairlead.model.apply.sets import FieldSet
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.store.contract import AtRevision, CommitOutcome, Put, Transaction
from tests.inprocess import InProcess
from tests.unit.api.things import CONFIGMAPS, DEPLOYMENTS, PODS, configmap, deployment, made, pod

APPLY = "application/apply-patch+yaml"
ONE = f"{CONFIGMAPS}/settings"
LAST = "kubectl.kubernetes.io/last-applied-configuration"


def apply(plane: InProcess, target: str, body: Any, manager: str = "one", query: str = "") -> tuple[int, Any]:
    return plane.request("PATCH", f"{target}?fieldManager={manager}{query}", body, content_type=APPLY)


def owners(obj: Any) -> dict[str, Any]:
    return {
        f"{each['manager']} {each['operation']}": each["fieldsV1"]
        for each in obj["metadata"]["managedFields"]
    }


def test_what_defaults_add_is_owned_and_what_admission_adds_is_not() -> None:
    plane = InProcess()
    created = made(plane, PODS, pod())
    (entry,) = created["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"], entry["apiVersion"]) == ("test", "Update", "v1")
    assert entry["time"] == created["metadata"]["creationTimestamp"]
    assert "f:restartPolicy" in entry["fieldsV1"]["f:spec"]
    assert "priority" in created["spec"]
    assert "f:priority" not in entry["fieldsV1"]["f:spec"]
    assert set(entry["fieldsV1"]) == {"f:spec"}, "nothing of metadata or status is anybody's"


def test_pods_from_one_template_are_tracked_alike_whether_or_not_it_is_known() -> None:
    plane = InProcess()
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "controller": True}
    bodies = [
        pod("a", labels={"x": "1"}),
        pod("b", labels={"x": "2"}),
        pod("c", labels={"y": "2"}, annotations={"x": "1"}),
        pod("d", annotations={"x": "1", "y": "2"}, finalizers=["a/b"]),
        pod("e", ownerReferences=[{**owner, "uid": "u1"}]),
        pod("f", ownerReferences=[{**owner, "uid": "u2"}]),
        pod("g", labels={"x": "1"}),
    ]
    for body in bodies:
        fresh = InProcess()
        known = made(plane, PODS, body)["metadata"]["managedFields"]
        assert known == made(fresh, PODS, body)["metadata"]["managedFields"], body["metadata"]


def test_other_kinds_are_tracked_alike_whether_or_not_one_like_it_is_known() -> None:
    plane = InProcess()
    bodies = [
        (CONFIGMAPS, configmap("a", labels={"x": "1"})),
        (CONFIGMAPS, configmap("b", labels={"x": "2"})),
        (CONFIGMAPS, configmap("c", labels={"y": "2"}, annotations={"x": "1"})),
        (CONFIGMAPS, {**configmap("d"), "data": {"b": "1", "a": "2"}}),
        (CONFIGMAPS, {**configmap("e"), "data": {}}),
        (DEPLOYMENTS, deployment("a")),
        (DEPLOYMENTS, deployment("b")),
    ]
    for path, body in bodies:
        known = made(plane, path, body)["metadata"].get("managedFields")
        assert known == made(InProcess(), path, body)["metadata"].get("managedFields"), body


def test_a_status_is_owned_by_who_makes_an_object_only_where_it_has_no_address_of_its_own() -> None:
    managing = Managing()
    fields: FieldSet = {"f:status": {}, "f:data": {}}
    with_address = CATALOG.by_resource("apps", "v1", "deployments")
    without = CATALOG.by_resource("", "v1", "configmaps")
    for _ in range(2):
        assert managing._all_new(with_address, fields) == b'{"f:data":{}}'
        assert managing._all_new(without, fields) == b'{"f:data":{},"f:status":{}}'


def test_a_client_that_sends_none_keeps_them_and_one_that_sends_nothing_resets_them() -> None:
    plane = InProcess()
    created = made(plane, CONFIGMAPS, configmap())
    bare = {**created, "metadata": {"name": "settings"}, "data": {"a": "2"}}
    _, kept = plane.put(ONE, bare)
    assert kept["metadata"]["managedFields"] == created["metadata"]["managedFields"]
    nothings: tuple[list[Any], ...] = ([], [{}])
    for nothing in nothings:
        _, reset = plane.put(ONE, {**bare, "metadata": {"name": "settings", "managedFields": nothing}})
        assert "managedFields" not in reset["metadata"]
        _, after = plane.put(ONE, {**bare, "data": {"a": str(nothing)}})
        assert "managedFields" not in after["metadata"], (
            "who is not named owns nothing until somebody applies"
        )
        _, applied = apply(plane, ONE, {**configmap(), "data": {"a": str(nothing)}})
        assert set(owners(applied)) == {"before-first-apply Update", "one Apply"}


def test_a_client_may_edit_them_and_what_cannot_be_read_counts_as_not_sent() -> None:
    plane = InProcess()
    created = made(plane, CONFIGMAPS, configmap())
    (entry,) = created["metadata"]["managedFields"]
    mine = {**entry, "manager": "other"}
    _, edited = plane.put(ONE, {**created, "metadata": {**created["metadata"], "managedFields": [mine]}})
    assert owners(edited) == {"other Update": entry["fieldsV1"]}
    assert edited["metadata"]["resourceVersion"] != created["metadata"]["resourceVersion"]
    broken = [{**mine, "fieldsV1": {"wrong": {}}}]
    _, same = plane.put(ONE, {**edited, "metadata": {**edited["metadata"], "managedFields": broken}})
    assert same == edited


def test_kubectls_migration_edits_them_by_a_json_patch_bound_to_a_revision() -> None:
    plane = InProcess()
    created = made(plane, CONFIGMAPS, configmap())
    (entry,) = created["metadata"]["managedFields"]
    mine = {**entry, "manager": "kubectl", "operation": "Apply"}

    def migrate(revision: str) -> tuple[int, Any]:
        patch = [
            {"op": "replace", "path": "/metadata/managedFields", "value": [mine]},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": revision},
        ]
        return plane.patch(ONE, patch, "json-patch")

    assert migrate("1")[0] == 409
    status, after = migrate(created["metadata"]["resourceVersion"])
    assert (status, owners(after)) == (200, {"kubectl Apply": entry["fieldsV1"]})


def test_a_write_that_changes_nothing_is_none() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    _, applied = apply(plane, ONE, configmap())
    plane.now += 60
    assert apply(plane, ONE, configmap())[1] == applied
    assert plane.put(ONE, {**applied, "metadata": {"name": "settings"}})[1] == applied
    assert plane.put(ONE, applied)[1] == applied
    assert plane.patch(ONE, {"data": {"a": "1"}})[1] == applied


def test_a_dry_run_shows_what_would_be_stored() -> None:
    plane = InProcess()
    _, shown = plane.post(f"{CONFIGMAPS}?dryRun=All", configmap())
    created = made(plane, CONFIGMAPS, configmap())
    assert shown["metadata"]["managedFields"] == created["metadata"]["managedFields"]
    change = {**configmap(), "data": {"a": "2"}}
    _, shown = apply(plane, ONE, change, query="&force=true&dryRun=All")
    _, stored = apply(plane, ONE, change, query="&force=true")
    assert shown["metadata"]["managedFields"] == stored["metadata"]["managedFields"]


def test_there_are_never_more_updates_than_the_bound_and_their_order_is_by_time() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    apply(plane, ONE, configmap())
    for number in range(3 * UPDATE_ENTRIES_MAX):
        plane.now += 60
        _, found = plane.patch(f"{ONE}?fieldManager=m{number}", {"data": {f"k{number}": "1"}})
        entries = found["metadata"]["managedFields"]
        assert sum(each["operation"] == "Update" for each in entries) <= UPDATE_ENTRIES_MAX
        assert entries == sorted(entries, key=lambda each: (each["operation"], each["time"]))
        assert entries[-1]["manager"] == f"m{number}"
    assert entries[1]["manager"] == "ancient-changes"
    assert set(found["data"]) == {"a", *(f"k{number}" for number in range(30))}
    owned = {key for each in entries for key in each["fieldsV1"]["f:data"]}
    assert owned >= {f"f:k{number}" for number in range(30)}


def test_stored_bytes_can_be_taken_apart_whatever_is_in_them() -> None:
    plane = InProcess()
    tricky = '"}],"fieldsType":"FieldsV1"}]'
    made(
        plane,
        CONFIGMAPS,
        {**configmap(annotations={"a": tricky}), "data": {"k": f',"managedFields":[{tricky}'}},
    )
    plane.patch(f"{ONE}?fieldManager={'x%5D%7D%22'}", {"data": {"x": "1"}})
    key = Key("configmaps", "default", "settings")
    entry = plane.store.get(key)
    assert entry is not None
    rest, managed = objects.split_managed(entry.data)
    whole = json.loads(entry.data)
    assert json.loads(managed) == whole["metadata"].pop("managedFields")
    assert json.loads(rest) == whole
    assert objects.plain(entry) == (whole, managed)
    assert {each.who.manager for each in stored_entries(managed)} == {"test", 'x]}"'}


@pytest.mark.parametrize("readable", [True, False])
def test_objects_of_before_whose_managed_fields_a_client_made_up_are_still_good(readable: bool) -> None:
    """An older version stored what clients sent, in whatever order they sent it."""
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    key = Key("configmaps", "default", "settings")
    entry = plane.store.get(key)
    assert entry is not None
    old = json.loads(objects.split_managed(entry.data)[0])
    fields: dict[str, Any] = {"f:data": {"f:a": {}}} if readable else {"what": {}}
    line = {
        "fieldsType": "FieldsV1",
        "manager": "me",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsV1": fields,
    }
    revision = old["metadata"].pop("resourceVersion")
    head = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"'
    metadata = msgspec.json.encode({**old["metadata"], "managedFields": [line]})
    tail = b'",%b,"data":{"a":"1"}}' % metadata[1:]
    plane.commit(Transaction((Put(key, entry.uid, head, tail),), (AtRevision(key, int(revision)),), ()))
    _, after = apply(plane, ONE, {**configmap(), "data": {"a": "1", "b": "2"}})
    assert set(owners(after)) == {"me Update" if readable else "before-first-apply Update", "one Apply"}
    assert plane.delete(ONE)[0] == 200


def test_binding_deleting_and_evicting_leave_them_as_they_are() -> None:
    plane = InProcess()
    created = made(plane, PODS, pod(finalizers=["a.example/hold"]))
    before = created["metadata"]["managedFields"]
    target = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}, "target": {"name": "n1"}}
    assert plane.post(f"{PODS}/web/binding", target)[0] == 201
    assert plane.get(f"{PODS}/web")[1]["metadata"]["managedFields"] == before
    plane.delete(f"{PODS}/web")
    assert plane.get(f"{PODS}/web")[1]["metadata"]["managedFields"] == before


def test_audit_names_the_changed_fields_and_not_who_owns_them() -> None:
    plane = InProcess()
    made(plane, DEPLOYMENTS, deployment())
    committed: list[Transaction] = []
    commit = plane.commit

    def kept(transaction: Transaction) -> CommitOutcome:
        committed.append(transaction)
        return commit(transaction)

    plane.commit = kept  # type: ignore[method-assign]
    plane.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 7}})
    (transaction,) = committed
    (note,) = transaction.notes
    assert json.loads(note.body)["changed"] == ["metadata.generation", "spec.replicas"]


ADDRESSES = [
    (["10.0.0.1"], ["10.0.0.1"], ["10.0.0.2"]),
    (["10.0.0.7"], ["10.0.0.7"], ["10.0.0.9"]),
    (["10.0.0.12", "10.0.0.1"], ["10.0.0.12"], ["10.0.0.1", "10.0.0.12"]),
    (["10.0.0.1", "10.0.0.2"], ["10.0.0.1"], ["10.0.0.2", "10.0.0.1"]),
    (["10.0.0.1", "10.0.0.12"], ["10.0.0.1"], ["10.0.0.12", "10.0.0.1"]),
    (["fd00::1", "10.0.0.1"], ["10.0.0.1", "fd00::2"], ["10.0.0.3"]),
    (["10.0.0.3", "fd00::1"], ["fd00::2", "10.0.0.3"], ["fd00::1", "fd00::2"]),
]


def test_what_one_pods_status_led_to_serves_for_a_pod_with_another_address_and_owner() -> None:
    plane = InProcess()
    sizes = []
    for number in range(3):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": f"0{number}-aF"}
        body = made(plane, PODS, pod(f"p{number}", ownerReferences=[owner]))
        assert f"0{number}-aF" in json.dumps(body["metadata"]["managedFields"])
        for phase in ("Pending", "Running"):
            status = {"phase": phase, "podIP": f"10.0.0.{number}", "podIPs": [{"ip": f"10.0.0.{number}"}]}
            plane.patch(f"{PODS}/p{number}/status?fieldManager=agent", {"status": status})
        told = json.dumps(plane.get(f"{PODS}/p{number}")[1]["metadata"]["managedFields"])
        assert all(own in told for own in (f"10.0.0.{number}", f"0{number}-aF"))
        sizes.append(len(plane.desk.managing._updated))
    assert sizes == [2, 2, 2]


def test_pods_with_other_addresses_are_tracked_as_on_a_plane_that_remembers_nothing() -> None:
    plane = InProcess()
    for number, steps in enumerate(ADDRESSES):
        name, fresh = f"p{number}", InProcess()
        made(plane, PODS, pod(name))
        made(fresh, PODS, pod(name))
        for turn, addresses in enumerate(steps):
            status = {"podIP": addresses[0], "podIPs": [{"ip": each} for each in addresses]}
            status["hostIPs"] = [{"ip": "10.0.0.1"}]
            target = f"{PODS}/{name}/status?fieldManager=agent{turn % 2}"
            fresh.desk.managing._updated.clear()
            told = [each.patch(target, {"status": status}) for each in (plane, fresh)]
            assert told[0][0] == 200, told
            fields = [obj["metadata"]["managedFields"] for _, obj in told]
            assert json.dumps(fields[0]) == json.dumps(fields[1]), (addresses, steps)


OWNERS = [("a b", "x"), ("a b", "Z"), ("a", "a b"), ("a b", "a"), ("a", "b"), ('a"b', "a"), ("a\\\\b", "aa")]


def test_owners_of_any_uid_are_tracked_in_their_order() -> None:
    plane = InProcess()
    for number, uids in enumerate(OWNERS):
        owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": each} for each in uids]
        told = []
        for each in (plane, InProcess()):
            made(each, PODS, pod(f"p{number}"))
            change = {"metadata": {"ownerReferences": owners}}
            told.append(each.patch(f"{PODS}/p{number}?fieldManager=two", change))
        assert [status for status, _ in told] == [200, 200]
        fields = [json.dumps(obj["metadata"]["managedFields"]) for _, obj in told]
        assert fields[0] == fields[1], uids


def test_a_manager_whose_name_looks_like_that_of_a_field_is_told_from_others() -> None:
    def of(manager: str) -> str:
        return quote(f'"k:{{"ip":"{manager}"}}":')

    plane, fresh = InProcess(), InProcess()
    for name, maker, writer in (("one", "A", "A"), ("two", "B", "A")):
        for each in (plane, fresh):
            fresh.desk.managing._updated.clear()
            each.post(f"{PODS}?fieldManager={of(maker)}", pod(name))
            each.patch(f"{PODS}/{name}?fieldManager={of(writer)}", {"metadata": {"labels": {"a": "1"}}})
        told = [each.get(f"{PODS}/{name}")[1]["metadata"]["managedFields"] for each in (plane, fresh)]
        assert told[0] == told[1]
        assert len(told[0]) == len({maker, writer})


def test_what_is_remembered_is_bounded() -> None:
    plane = InProcess()
    managing: Managing = plane.desk.managing
    made(plane, CONFIGMAPS, configmap())
    for number in range(1200):
        plane.patch(
            f"{ONE}?fieldManager=one", {"data": {"last": None, f"k{number}": "1", f"k{number - 1}": None}}
        )
        made(plane, PODS, pod(f"p{number}", labels={f"l{number}": ""}))
    assert len(managing._updated) <= 1024
    assert len(managing._created) <= 1024


def test_kubectl_takes_over_what_it_applied_from_the_client() -> None:
    plane = InProcess()
    last = {**configmap(), "data": {"a": "1", "b": "1"}}
    stored = {**last, "metadata": {"name": "settings", "annotations": {LAST: json.dumps(last)}}}
    assert plane.post(f"{CONFIGMAPS}?fieldManager=kubectl-client-side-apply", stored)[0] == 201
    change = {**configmap(), "data": {"a": "2"}}
    assert apply(plane, ONE, change, "other")[0] == 409
    status, after = apply(plane, ONE, change, "kubectl")
    assert status == 200
    assert after["data"] == {"a": "2", "b": "1"}
    assert json.loads(after["metadata"]["annotations"][LAST]) == change
    assert "f:a" not in owners(after)["kubectl-client-side-apply Update"]["f:data"]
    plane.patch(f"{ONE}?fieldManager=hand", {"data": {"a": "3"}})
    status, refused = apply(plane, ONE, change, "kubectl")
    assert (status, refused["details"]["causes"][0]["field"]) == (409, ".data.a")


def test_who_may_patch_and_not_create_cannot_create_by_applying() -> None:
    from fairlead.api.access.contract import AccessVerdict, Attributes

    plane = InProcess()
    asked: list[str] = []

    class NoCreate:
        def authorize(self, given: Attributes) -> AccessVerdict:
            asked.append(given.verb)
            return AccessVerdict("denied" if given.verb == "create" else "allowed")

    object.__setattr__(plane.desk, "authorizer", NoCreate())
    assert apply(plane, ONE, configmap())[0] == 403
    assert asked == ["patch", "create"]


@pytest.mark.parametrize(
    ("query", "body", "status", "message"),
    [
        ("", configmap(), 422,
         'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'),
        ("?fieldManager=a", b"a: [", 400, "the body is not valid YAML"),
        ("?fieldManager=a", b"", 400, "no body"),
        ("?fieldManager=a", {"apiVersion": "v1", "kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        ("?fieldManager=a", configmap(managedFields=[]), 400, "metadata.managedFields must be nil"),
        ("?fieldManager=a", {"apiVersion": "v1", "kind": "ConfigMap"}, 400, "name must be provided"),
        ("?fieldManager=a&fieldValidation=Strict", {**configmap(), "dta": {}}, 400, ".dta: field not declared in schema"),
        ("?fieldManager=a&fieldValidation=Ignore", {**configmap(), "a": 1, "b": 1}, 400, ".a: field not declared in schema\n  .b: field"),
        ("?fieldManager=a&force=perhaps", configmap(), 400, "force"),
        ("?fieldManager=a", configmap(resourceVersion="5"), 409, "no existing object was found"),
    ],
)  # fmt: skip
def test_what_cannot_be_applied_is_refused_with_the_reason(
    query: str, body: Any, status: int, message: str
) -> None:
    plane = InProcess()
    found, answer = plane.request("PATCH", ONE + query, body, content_type=APPLY)
    assert (found, message in answer["message"]) == (status, True), answer
    assert plane.get(ONE)[0] == 404


def test_a_field_given_twice_is_warned_of_unless_nobody_wants_to_know() -> None:
    plane = InProcess()
    twice = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  a: first\n  a: last\n"
    for level, warnings in (("Warn", ('duplicate field "data.a"',)), ("Ignore", ())):
        status, found = apply(plane, ONE, twice, query=f"&fieldValidation={level}")
        assert (status in (200, 201), found["data"], plane.warnings) == (True, {"a": "last"}, warnings)
    status, found = apply(plane, ONE, twice, query="&fieldValidation=Strict")
    assert (status, found["message"]) == (400, 'strict decoding error: duplicate field "data.a"')
