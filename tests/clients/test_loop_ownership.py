"""Who owns what while controllers act: cascades, orphans, adoption, release; with pods on hollow nodes."""

from __future__ import annotations

import pytest

from tests.clients.converging import eventually, is_live, items, names, rolled_out, uids
from tests.clients.kubectl import Operator
from tests.clients.manifests import pod, workload

ARGUMENTS = ("--hollow-nodes", "2")
SHARED = True  # the server, with other modules


def _owners(team: Operator, what: str) -> set[str]:
    return {each["metadata"]["ownerReferences"][0]["uid"] for each in items(team, what)}


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_a_deployment_takes_its_children_along(team: Operator, cascade: str) -> None:
    team("create -f -", workload("Deployment", "web", replicas=2))
    rolled_out(team, "deploy/web")
    assert team(f"delete deploy web --cascade={cascade}") == 'deployment.apps "web" deleted\n'
    if cascade == "foreground":  # kubectl waited for the Deployment, which waited for them
        assert items(team, "rs,pods") == []
    assert eventually(lambda: items(team, "rs,pods") == [])


def test_a_deployment_with_the_same_template_adopts_what_another_left(team: Operator) -> None:
    web = workload("Deployment", "web", replicas=2)
    team("create -f -", web)
    rolled_out(team, "deploy/web")
    pods, sets = uids(team, "pods"), uids(team, "rs")
    team("delete deploy web --cascade=orphan")
    assert (uids(team, "rs"), uids(team, "pods")) == (sets, pods)
    assert "ownerReferences" not in items(team, "rs")[0]["metadata"]
    team("create -f -", web)
    rolled_out(team, "deploy/web")
    assert (uids(team, "rs"), uids(team, "pods")) == (sets, pods)
    assert _owners(team, "rs") == uids(team, "deploy")


def test_a_replica_set_adopts_the_pods_it_selects_and_no_more_than_it_wants(team: Operator) -> None:
    team("create -f -", [pod(name, labels={"app": "web"}) for name in ("a", "b", "c")])
    team("create -f -", pod("stranger", labels={"app": "other"}))
    team("create -f -", workload("ReplicaSet", "web", replicas=2))
    assert eventually(lambda: len(names(team, "pods -l app=web")) == 2)
    assert names(team, "pods -l app=web") < {"a", "b", "c"}
    assert _owners(team, "pods -l app=web") == uids(team, "rs")
    assert "ownerReferences" not in items(team, "pods -l app=other")[0]["metadata"]


def test_orphaned_pods_go_to_the_next_replica_set(team: Operator) -> None:
    team("create -f -", workload("ReplicaSet", "old", replicas=2))
    eventually(lambda: len(names(team, "pods")) == 2)
    before = uids(team, "pods")
    team("delete rs old --cascade=orphan")
    new = workload("ReplicaSet", "old", replicas=3)
    new["metadata"]["name"] = "new"
    team("create -f -", new)
    team("wait rs new --for=jsonpath={.status.readyReplicas}=3 --timeout=90s")
    assert before < uids(team, "pods")
    assert _owners(team, "pods") == uids(team, "rs")


def test_a_pod_that_is_labelled_otherwise_is_let_go_and_replaced(team: Operator) -> None:
    team("create -f -", workload("ReplicaSet", "web", replicas=1))
    (name,) = eventually(lambda: names(team, "pods"))
    team(f"label pod {name} app=quarantine --overwrite")
    eventually(lambda: names(team, "pods -l app=web"))
    (released,) = items(team, "pods -l app=quarantine")
    assert is_live(released)
    eventually(lambda: "ownerReferences" not in items(team, "pods -l app=quarantine")[0]["metadata"])
    team(f"label pod {name} app=web --overwrite")  # back again: one of the two is too many
    assert eventually(lambda: len(names(team, "pods")) == 1)


def test_a_namespace_ends_with_everything_in_it(kubectl: Operator, team: Operator) -> None:
    team("create -f -", workload("Deployment", "web", replicas=2))
    rolled_out(team, "deploy/web")
    kubectl(f"delete namespace {team.namespace}")
    assert items(team, "deploy,rs,pods") == []


def test_every_namespace_has_a_service_account_and_gets_it_anew(kubectl: Operator, team: Operator) -> None:
    eventually(lambda: names(team, "serviceaccounts") == {"default"})
    before = uids(team, "serviceaccounts")
    team("delete serviceaccount default")
    eventually(
        lambda: names(team, "serviceaccounts") == {"default"} and uids(team, "serviceaccounts") != before
    )
    team("create -f -", pod("plain"))
    assert team.asked("get pod plain -o jsonpath={.spec.serviceAccountName}") == "default"
    assert {each["metadata"]["namespace"] for each in items(kubectl, "serviceaccounts -A")} >= {
        "default",
        "kube-system",
        team.namespace,
    }
