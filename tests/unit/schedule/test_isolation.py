"""Nodes say what they isolate: a pod that asks for more goes elsewhere, or waits and is told why."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.explain.why_not import why_not
from fairlead.model.views import Node, Pod
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.registry import default_policy
from tests.unit.schedule.clusters import cluster, node, viewed

USERS, MOUNTS = "fairlead.dev/isolates-users", "fairlead.dev/isolates-mounts"
SILENT = node("silent")
ALL = node("all", labels={USERS: "true", MOUNTS: "true"})
OURS = {"fairlead.dev/agent-user": "1000", "fairlead.dev/agent-group": "1000"}
NONE = node("none", labels={USERS: "false", MOUNTS: "false", **OURS})
SCRATCH = [{"name": "scratch", "emptyDir": {}}]


def asking(spec: dict[str, Any] | None = None, **container: Any) -> Pod:
    metadata = {"name": "p", "namespace": "default", "uid": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}
    whole = {"containers": [{"name": "main", **container}], **(spec or {})}
    return viewed({"metadata": metadata, "spec": whole, "status": {}}, Pod)


def passes(found: Node, pod: Pod) -> bool:
    snapshot = cluster((found,))
    return why_not(snapshot, default_policy(), snapshot.facts_of(pod), found.metadata.name).passes


def security(**fields: Any) -> dict[str, Any]:
    return {"securityContext": fields}


@pytest.mark.parametrize(
    ("pod", "fits"),
    [
        (asking(), True),
        (asking(**security(runAsNonRoot=True, allowPrivilegeEscalation=False)), True),
        (asking(**security(capabilities={"drop": ["ALL"]})), True),
        (asking(**security(runAsUser=1000, runAsGroup=1000)), True),
        (asking(security(runAsUser=1000, fsGroup=1000)), True),
        (asking(**security(runAsUser=1000, runAsGroup=5)), False),
        (asking(**security(runAsUser=0)), False),
        (asking(security(runAsUser=1000), **security(runAsUser=1001)), False),
        (asking(security(supplementalGroups=[7])), False),
        (asking(**security(privileged=True)), False),
        (asking(**security(capabilities={"add": ["NET_ADMIN"]})), False),
        (asking(**security(readOnlyRootFilesystem=True)), False),
        (asking({"volumes": SCRATCH}, volumeMounts=[{"name": "scratch", "mountPath": "/s"}]), True),
        (asking({"volumes": SCRATCH}, volumeMounts=[{"name": "scratch", "mountPath": "/s", "readOnly": True}]), False),
    ],
)  # fmt: skip
def test_a_pod_goes_where_its_agent_would_not_refuse_it(pod: Pod, fits: bool) -> None:
    assert passes(ALL, pod)
    assert passes(SILENT, pod), "who says nothing of it is not judged"
    assert passes(NONE, pod) is fits


def test_a_pod_that_fits_nowhere_is_told_why_per_node() -> None:
    pod = asking(**security(runAsUser=0, readOnlyRootFilesystem=True))
    files = node("files", labels={MOUNTS: "false", USERS: "true"})
    snapshot = cluster((NONE, files))
    facts = snapshot.facts_of(pod)
    told = {name: why_not(snapshot, default_policy(), facts, name).filters[0] for name in ("none", "files")}
    assert {each[0] for each in told.values()} == {"NodeIsolation"}
    assert told["none"].detail == (
        f"the pod asks for user 0, and the node says {USERS}=false; "
        f"the pod asks for read-only files, and the node says {MOUNTS}=false"
    )
    assert told["files"].detail == f"the pod asks for read-only files, and the node says {MOUNTS}=false"
    attempt = Cycle(snapshot, default_policy()).place(pod)
    assert not attempt.node
    assert [(each.plugin, each.nodes) for each in attempt.refusals] == [("NodeIsolation", 1)] * 2
    assert "node(s) had no files of their own for containers" in attempt.message


def test_pods_that_differ_only_in_what_they_ask_of_walls_are_of_two_classes() -> None:
    snapshot = cluster((ALL, NONE))
    assert snapshot.facts_of(asking()) is not snapshot.facts_of(asking(**security(runAsUser=0)))
    assert snapshot.facts_of(asking(**security(runAsUser=0))) is snapshot.facts_of(
        asking(**security(runAsUser=0))
    )
