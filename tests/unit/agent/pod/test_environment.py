"""Variables, files, arguments and addresses: what a container finds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.agent.calls import Calls
from fairlead.agent.contract import Ask, Attend, Mount
from fairlead.agent.pace import Pace
from fairlead.agent.pod.addresses import Addresses
from fairlead.agent.pod.downward import Surroundings, field_text, resource_text
from fairlead.agent.pod.environment import build_environment, expand
from fairlead.agent.pod.launch import launch
from fairlead.agent.pod.tokens import PodTokens
from fairlead.agent.pod.volumes import Unsupported, volumes
from fairlead.agent.references import Missing, Pending, ReferenceLibrary, named_by
from fairlead.agent.views import BoundPod
from fairlead.core import codec
from fairlead.port.outcome import Done, Refused, Unknown

AROUND = Surroundings("127.128.1.5", "127.0.0.1", {"cpu": "2", "memory": "4Gi"})


def pod(volumes: Any = (), **fields: Any) -> BoundPod:
    metadata = {
        "name": "web",
        "uid": "u",
        "namespace": "ns",
        "labels": {"b": "2", "a": '1"'},
        "annotations": {"x": "y"},
    }
    main = {"name": "main", "command": ["run"], **fields}
    spec = {"nodeName": "n", "containers": [main], "volumes": list(volumes), "serviceAccountName": "acc"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, BoundPod)


def library(of: BoundPod, **objects: Any) -> ReferenceLibrary:
    """`objects`: what is stored, by name; None is absent."""
    calls = Calls()
    made = ReferenceLibrary(Pace(), calls)
    made.lend("u", named_by(of), 1.0)
    for ask in made.step(1.0):
        assert isinstance(ask, Ask)
        stored = objects.get(ask.request.name)
        purpose = calls.answered(ask.call)
        assert purpose is not None
        body = codec.encode({"data": stored})
        outcome = Done(1, body) if stored is not None else Refused(404, "NotFound", "no")
        made.answered(purpose.about, outcome, 1.0, 0.5)
    return made


def variables(of: BoundPod, services: Any = (), **objects: Any) -> dict[str, str]:
    return build_environment(of, of.spec.containers[0], AROUND, library(of, **objects), services)


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)$(B)y", "x1$(B)y"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(A", "$(A"),
        ("$A $", "$A $"),
        ("$()", "$()"),
    ],
)
def test_expansion(text: str, becomes: str) -> None:
    assert expand(text, {"A": "1"}) == becomes


def value_from(**source: Any) -> list[Any]:
    return [{"name": "A", "valueFrom": source}]


@pytest.mark.parametrize(
    ("fields", "objects", "expected"),
    [
        (
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"}]},
            {},
            {"A": "1", "B": "1$(C)"},
        ),
        ({"env": [{"name": "A"}]}, {}, {"A": ""}),
        ({"env": value_from(fieldRef={"fieldPath": "metadata.labels['b']"})}, {}, {"A": "2"}),
        ({"env": value_from(fieldRef={"fieldPath": "status.podIP"})}, {}, {"A": "127.128.1.5"}),
        ({"env": value_from(configMapKeyRef={"name": "m", "key": "k"})}, {"m": {"k": "v"}}, {"A": "v"}),
        ({"env": value_from(secretKeyRef={"name": "s", "key": "k"})}, {"s": {"k": "dg=="}}, {"A": "v"}),
        ({"env": value_from(secretKeyRef={"name": "s", "key": "k", "optional": True})}, {}, {}),
        ({"envFrom": [{"prefix": "P_", "configMapRef": {"name": "m"}}]}, {"m": {"k": "v"}}, {"P_k": "v"}),
        ({"envFrom": [{"configMapRef": {"name": "m", "optional": True}}]}, {}, {}),
        (
            {"envFrom": [{"configMapRef": {"name": "m"}}], "env": [{"name": "k", "value": "$(k)2"}]},
            {"m": {"k": "v"}},
            {"k": "v2"},
        ),
        ({"env": [{"name": "HOSTNAME", "value": "mine"}]}, {}, {"HOSTNAME": "mine"}),
    ],
)
def test_variables(fields: Any, objects: Any, expected: dict[str, str]) -> None:
    found = variables(pod(**fields), **objects)
    added = {"POD_IP": "127.128.1.5", "POD_NAME": "web", "POD_NAMESPACE": "ns", "HOSTNAME": "web"}
    assert found == {**added, **expected}


def test_services_are_known_to_expansion_and_lose_to_the_spec() -> None:
    env = [{"name": "URL", "value": "$(S_HOST)"}, {"name": "S_PORT", "value": "mine"}]
    found = variables(pod(env=env), [("S_HOST", "h"), ("S_PORT", "80")])
    assert (found["URL"], found["S_HOST"], found["S_PORT"]) == ("h", "h", "mine")


@pytest.mark.parametrize(
    ("fields", "objects", "message"),
    [
        ({"env": value_from(configMapKeyRef={"name": "m", "key": "k"})}, {}, 'configmap "m" not found'),
        (
            {"env": value_from(secretKeyRef={"name": "s", "key": "k"})},
            {"s": {}},
            "couldn't find key k in Secret ns/s",
        ),
        ({"envFrom": [{"configMapRef": {"name": "m"}}]}, {}, 'configmap "m" not found'),
        (
            {"env": value_from(fieldRef={"fieldPath": "spec.nothing"})},
            {},
            "fieldPath spec.nothing is not supported",
        ),
    ],
)
def test_what_is_missing_is_named(fields: Any, objects: Any, message: str) -> None:
    with pytest.raises(Missing, match=message):
        variables(pod(**fields), **objects)


def test_what_was_not_read_yet_is_waited_for_and_errors_are_tried_again() -> None:
    wanted = pod(env=value_from(configMapKeyRef={"name": "m", "key": "k"}))
    calls = Calls()
    made = ReferenceLibrary(Pace(), calls)
    made.lend("u", named_by(wanted), 1.0)
    with pytest.raises(Pending):
        build_environment(wanted, wanted.spec.containers[0], AROUND, made, ())
    (ask,) = made.step(1.0)
    assert isinstance(ask, Ask)
    purpose = calls.answered(ask.call)
    assert purpose is not None
    assert made.answered(purpose.about, Unknown("lost"), 1.0, 0.5) == ()
    assert made.step(1.5) == ()
    (ask,) = made.step(2.1)
    assert isinstance(ask, Ask)
    made.give_back("u")
    purpose = calls.answered(ask.call)
    assert purpose is not None
    assert made.answered(purpose.about, Done(1, b"{}"), 3.0, 0.5) == ()
    assert made.next_at == 0.0, "nobody reads it any more"


def test_a_new_pod_reads_anew() -> None:
    wanted = pod(env=value_from(configMapKeyRef={"name": "m", "key": "k"}))
    made = library(wanted, m={"k": "old"})
    assert made.step(2.0) == (Attend("configmaps", "ns", "m"),)
    made.lend("other", named_by(wanted), 2.0)
    assert len(made.step(2.0)) == 1
    with pytest.raises(Pending):
        made.read("other", named_by(wanted)[0])
    assert made.read("u", named_by(wanted)[0]) == {"k": b"old"}


@pytest.mark.parametrize(
    ("resource", "limits", "divisor", "text"),
    [
        ("limits.cpu", {"cpu": "500m"}, "0", "1"),
        ("limits.cpu", {"cpu": "500m"}, "1m", "500"),
        ("limits.cpu", {}, "1", "2"),
        ("limits.memory", {"memory": "64Mi"}, "1Mi", "64"),
        ("limits.memory", {}, "1Gi", "4"),
        ("requests.memory", {}, "1", "0"),
    ],
)
def test_amounts(resource: str, limits: Any, divisor: str, text: str) -> None:
    of = pod(resources={"limits": limits})
    assert resource_text(of, AROUND, {"resource": resource, "divisor": divisor}, "main") == text


def test_maps_as_lines() -> None:
    assert field_text(pod(), AROUND, "metadata.labels") == 'a="1\\""\nb="2"'


@pytest.mark.parametrize(
    ("source", "objects", "files"),
    [
        ({"emptyDir": {}}, {}, None),
        ({"configMap": {"name": "m", "defaultMode": 0o600}}, {"m": {"b": "2", "a": "1"}}, (("a", b"1", 0o600), ("b", b"2", 0o600))),
        ({"secret": {"secretName": "s", "items": [{"key": "k", "path": "d/f", "mode": 256}]}}, {"s": {"k": "dg==", "l": ""}}, (("d/f", b"v", 256),)),
        ({"secret": {"secretName": "s", "optional": True}}, {}, ()),
        ({"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}}, {}, (("n", b"web", 0o644),)),
        (
            {"projected": {"sources": [{"configMap": {"name": "m"}}, {"secret": {"name": "s"}}]}},
            {"m": {"k": "1"}, "s": {"k": "dg=="}},
            (("k", b"v", 0o644),),
        ),
    ],
)  # fmt: skip
def test_files_of_volumes(source: Any, objects: Any, files: Any) -> None:
    of = pod([{"name": "v", **source}])
    (made,) = volumes(of, AROUND, library(of, **objects), PodTokens(Pace(), Calls()))
    assert (made.name, made.files) == ("v", files)


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        (
            {"configMap": {"name": "m"}},
            Missing,
            'MountVolume.SetUp failed for volume "v" : configmap "m" not found',
        ),
        ({"hostPath": {"path": "/"}}, Unsupported, "spec.volumes\\[0\\].hostPath is not supported"),
        (
            {"projected": {"sources": [{"clusterTrustBundle": {}}]}},
            Unsupported,
            "projected is not supported",
        ),
    ],
)
def test_volumes_that_cannot_be_made(source: Any, error: type[Exception], words: str) -> None:
    of = pod([{"name": "v", **source}])
    with pytest.raises(error, match=words):
        volumes(of, AROUND, library(of), PodTokens(Pace(), Calls()))


def test_a_launch_has_everything() -> None:
    of = pod(
        [{"name": "v", "emptyDir": {}}, {"name": "c", "downwardAPI": {}}],
        command=["run", "$(A)"],
        args=["$(POD_NAME)"],
        env=[{"name": "A", "value": "1"}],
        workingDir="/w",
        volumeMounts=[
            {"name": "v", "mountPath": "/v", "subPathExpr": "x-$(A)"},
            {"name": "c", "mountPath": "/c"},
        ],
        securityContext={"runAsUser": 7},
        resources={"limits": {"cpu": "250m", "memory": "1Mi"}},
    )
    run = launch(of, of.spec.containers[0], 3, AROUND, library(of), ())
    assert (run.name, run.attempt, run.argv) == ("main", 3, ("run", "1", "web"))
    assert run.mounts == (Mount("v", "/v", "x-1", False), Mount("c", "/c", "", True))
    assert (run.user, run.group, run.cpu_millis, run.memory_bytes) == (7, None, 250, 2**20)
    assert run.working_directory == "/w"


def test_addresses() -> None:
    known = Addresses()
    assert (known.known, known.take("a")) == (False, "")
    known.use("127.128.1.0/29")
    assert known.take("a") == known.take("a") == "127.128.1.1"
    assert known.take("b", "127.128.1.5") == "127.128.1.5"
    assert known.take("c", "127.128.1.5") == "127.128.1.2"
    assert known.take("d", "10.0.0.1") == "127.128.1.3"
    known.release("a")
    assert known.take("e") == "127.128.1.4"
    known.hold("f", "127.9.9.9")
    assert known.take("f") == "127.9.9.9"
    assert known.take("g") == "127.128.1.6"
    assert known.take("h") == "127.128.1.1"
    assert known.take("i") == ""
    known.use("nonsense")
    assert known.take("i") == ""
