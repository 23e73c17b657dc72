"""Deployments that controllers act on: created, rolled, undone, paused, scaled, healed; with pods on hollow nodes."""

from __future__ import annotations

import pytest

from tests.clients.converging import (
    eventually,
    is_live,
    is_ready,
    items,
    moments,
    names,
    now_at,
    rolled_out,
    uids,
)
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import Manifest, workload

ARGUMENTS = ("--hollow-nodes", "2")
SHARED = True  # the server, with other modules
HASH = "pod-template-hash"


def _web(replicas: int, **spec: object) -> Manifest:
    return workload("Deployment", "web", replicas=replicas, **spec)


def _rolling(surge: object, unavailable: object) -> Manifest:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def _images(team: Operator) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in items(team, "pods") if is_live(pod)}


def test_a_deployment_runs_its_pods_and_says_so(team: Operator) -> None:
    assert team("create deployment web --image=nginx:1 --replicas=2") == "deployment.apps/web created\n"
    assert rolled_out(team, "deploy/web") == 'deployment "web" successfully rolled out'
    (row,) = table(team("get deploy -o wide"))
    assert row.pop("PROGRESS")
    assert row == {
        "NAME": "web", "READY": "2/2", "UP-TO-DATE": "2", "AVAILABLE": "2", "AGE": "AGE",
        "CONTAINERS": "nginx", "IMAGES": "nginx:1", "SELECTOR": "app=web",
    }  # fmt: skip
    (replicas,) = table(team("get rs"))
    assert [replicas[name] for name in ("DESIRED", "CURRENT", "READY")] == ["2", "2", "2"]
    pods = table(team("get pods"))
    assert [(pod["READY"], pod["STATUS"], pod["RESTARTS"]) for pod in pods] == [("1/1", "Running", "0")] * 2
    assert all(pod["NAME"].startswith(replicas["NAME"] + "-") for pod in pods)
    told = team("describe deploy web")
    assert "Replicas:               2 desired | 2 updated | 2 total | 2 available | 0 unavailable" in told
    assert ["Available", "True", "MinimumReplicasAvailable"] in [line.split() for line in told.splitlines()]
    assert ["Progressing", "True", "NewReplicaSetAvailable"] in [line.split() for line in told.splitlines()]
    assert team("wait deploy web --for=condition=available") == "deployment.apps/web condition met\n"


def test_history_and_undo(team: Operator) -> None:
    team("create deployment web --image=nginx:1")
    rolled_out(team, "deploy/web")
    for image in ("nginx:2", "nginx:3"):
        assert team(f"set image deploy/web nginx={image}") == "deployment.apps/web image updated\n"
        team(f"annotate deploy web kubernetes.io/change-cause={image}")
        rolled_out(team, "deploy/web")
    assert _history(team) == [["1", "<none>"], ["2", "nginx:2"], ["3", "nginx:3"]]
    assert "Image:\tnginx:2" in team("rollout history deploy/web --revision=2")
    assert "unable to find the specified revision" in team.refused("rollout history deploy/web --revision=9")

    assert team("rollout undo deploy/web") == "deployment.apps/web rolled back\n"
    rolled_out(team, "deploy/web")
    assert _images(team) == {"nginx:2"}
    assert [row[0] for row in _history(team)] == ["1", "3", "4"]
    team("rollout undo deploy/web --to-revision=1")
    rolled_out(team, "deploy/web")
    assert _images(team) == {"nginx:1"}
    assert [row[0] for row in _history(team)] == ["3", "4", "5"]
    assert len(names(team, "rs")) == 3
    annotations = team.yaml("get deploy web")["metadata"]["annotations"]
    assert annotations["deployment.kubernetes.io/revision"] == "5"
    assert "fairlead.dev/operation" not in annotations  # kubectl copies it from the set it goes back to
    assert "unable to find specified revision 9" in team.refused("rollout undo deploy/web --to-revision=9")


def _history(team: Operator) -> list[list[str]]:
    return [line.split() for line in team("rollout history deploy/web").splitlines()[2:] if line]


def test_old_revisions_are_forgotten(team: Operator) -> None:
    team("create -f -", _web(1, revisionHistoryLimit=1, strategy=_rolling(1, 0)))
    for image in ("web:2", "web:3", "web:4"):
        team(f"set image deploy/web main={image}")
        rolled_out(team, "deploy/web")
    assert eventually(lambda: [row[0] for row in _history(team)] == ["3", "4"])


def test_a_paused_rollout_waits_and_still_scales(team: Operator) -> None:
    team("create -f -", _web(1))
    rolled_out(team, "deploy/web")
    team("rollout pause deploy/web")
    team("set image deploy/web main=web:2")
    team("scale deploy web --replicas=2")
    team("wait deploy web --for=jsonpath={.status.readyReplicas}=2 --timeout=90s")
    assert _images(team) == {"busybox:1"}
    assert len(names(team, "rs")) == 1
    conditions = {each["type"]: each for each in team.yaml("get deploy web")["status"]["conditions"]}
    assert (conditions["Progressing"]["status"], conditions["Progressing"]["reason"]) == (
        "Unknown",
        "DeploymentPaused",
    )
    team("rollout resume deploy/web")
    rolled_out(team, "deploy/web")
    assert _images(team) == {"web:2"}


def test_restart_replaces_every_pod(team: Operator) -> None:
    team("create -f -", _web(2, strategy=_rolling("100%", 0)))
    rolled_out(team, "deploy/web")
    before = uids(team, "pods")
    assert team("rollout restart deploy/web") == "deployment.apps/web restarted\n"
    rolled_out(team, "deploy/web")
    after = {pod["metadata"]["uid"] for pod in items(team, "pods") if is_live(pod)}
    assert len(after) == 2
    assert not before & after


def test_scaling_up_down_and_to_nothing(team: Operator) -> None:
    team("create -f -", _web(1))
    for replicas in (5, 2, 0, 1):
        team(f"scale deploy web --replicas={replicas}")
        rolled_out(team, "deploy/web")
        eventually(lambda wanted=replicas: len(items(team, "pods")) == wanted)  # type: ignore[misc]
        shown = f"{replicas}/{replicas}"
        eventually(lambda shown=shown: [row["READY"] for row in table(team("get deploy"))] == [shown])  # type: ignore[misc]
    (only,) = items(team, "rs")
    assert (only["spec"]["replicas"], only["status"]["replicas"]) == (1, 1)


@pytest.mark.parametrize(
    ("surge", "unavailable"),
    [(1, 0), *(pytest.param(*each, marks=pytest.mark.soak) for each in ((0, 1), ("50%", "25%")))],
)
def test_a_rollout_keeps_within_its_bounds(team: Operator, surge: object, unavailable: object) -> None:
    since, wanted = now_at(team), 4
    most = wanted + {1: 1, 0: 0, "50%": 2}[surge]
    least = wanted - {1: 1, 0: 0, "25%": 1}[unavailable]
    team("create -f -", _web(wanted, strategy=_rolling(surge, unavailable)))
    rolled_out(team, "deploy/web")
    team("set image deploy/web main=web:2")
    rolled_out(team, "deploy/web")
    assert _images(team) == {"web:2"}
    seen = [(sum(map(is_live, pods)), sum(map(is_ready, pods))) for pods in moments(team, since)]
    assert max(live for live, _ in seen) == most
    first_full = next(at for at, (_, ready) in enumerate(seen) if ready == wanted)
    assert min(ready for _, ready in seen[first_full:]) == least


def test_recreate_never_runs_two_versions_together(team: Operator) -> None:
    since = now_at(team)
    team("create -f -", _web(2, strategy={"type": "Recreate"}))
    rolled_out(team, "deploy/web")
    team("set image deploy/web main=web:2")
    rolled_out(team, "deploy/web")
    assert _images(team) == {"web:2"}
    versions = [{pod["metadata"]["labels"][HASH] for pod in pods} for pods in moments(team, since)]
    assert max(map(len, versions)) == 1
    assert set() in versions  # the old were gone before the new came


def test_a_rollout_that_does_not_progress_is_reported_and_can_still_succeed(team: Operator) -> None:
    web = _web(1, progressDeadlineSeconds=2)
    web["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "gold"}
    team("create -f -", web)
    done = team.run("rollout status deploy/web --timeout=90s")
    assert (done.code, done.err) == (1, 'error: deployment "web" exceeded its progress deadline\n')
    conditions = {each["type"]: each for each in team.yaml("get deploy web")["status"]["conditions"]}
    assert conditions["Progressing"]["reason"] == "ProgressDeadlineExceeded"
    assert conditions["Available"]["reason"] == "MinimumReplicasUnavailable"
    assert {pod["STATUS"] for pod in table(team("get pods"))} == {"Pending"}
    team("label node hollow-1 disk=gold")
    team("wait deploy web --for=condition=available --timeout=90s")
    rolled_out(team, "deploy/web")
    assert {pod["NODE"] for pod in table(team("get pods -o wide"))} == {"hollow-1"}


def test_a_deleted_pod_is_replaced_by_another(team: Operator) -> None:
    team("create -f -", _web(2))
    rolled_out(team, "deploy/web")
    gone, stays = sorted(uids(team, "pods"))
    (name,) = (pod["metadata"]["name"] for pod in items(team, "pods") if pod["metadata"]["uid"] == gone)
    team(f"delete pod {name}")
    rolled_out(team, "deploy/web")
    after = eventually(lambda: (found := uids(team, "pods")) and len(found) == 2 and found)
    assert stays in after
    assert gone not in after


def test_a_settled_deployment_is_not_written_again(team: Operator) -> None:
    team("create -f -", _web(1))
    rolled_out(team, "deploy/web")
    team("wait deploy web --for=jsonpath={.status.progress.deadline.state}=Met --timeout=90s")
    before = _revisions(team)
    team("annotate pods -l app=web note=looked-at")  # wakes its controllers
    team("create -f -", workload("ReplicaSet", "other", replicas=1))
    team("wait rs other --for=jsonpath={.status.availableReplicas}=1 --timeout=90s")
    assert before.items() <= _revisions(team).items()


def _revisions(team: Operator) -> dict[str, str]:
    found = items(team, "deploy,rs")
    return {
        f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["resourceVersion"] for each in found
    }
