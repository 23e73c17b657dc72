"""Deletion: the three cascades, selectors, grace, finalizers, namespaces."""

from __future__ import annotations

import pytest

from tests.clients.converging import eventually
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import config, owned, pod, workload

SHARED = True  # the server, with other modules


def _family(team: Operator, *names: str) -> None:
    """A ReplicaSet of each name with two pods that name it, by its uid, as their controller."""
    sets = [workload("ReplicaSet", name, replicas=2) for name in names]
    team("create -f -", sets)
    uids = team.asked(f"get rs {' '.join(names)} -o jsonpath='{{..metadata.uid}}'").split()
    children = [
        owned(pod(f"{each['metadata']['name']}-{number}", labels=each["metadata"]["labels"]), each, uid)
        for each, uid in zip(sets, uids, strict=True)
        for number in (1, 2)
    ]
    team("create -f -", children)


def _left(team: Operator) -> list[str]:
    return team.run("get rs,pods -o name").out.split()


def _eventually(team: Operator, expected: list[str]) -> None:
    """Dependents of a deleted owner go soon after it: kubectl waits for the owner only."""
    eventually(lambda: _left(team) == expected)


@pytest.mark.parametrize("cascade", ["", "--cascade=background"])
def test_in_the_background_dependents_go_after_their_owner(team: Operator, cascade: str) -> None:
    _family(team, "gone", "kept")
    done = team.run(f"delete rs gone {cascade}")
    assert (done.code, done.out) == (0, 'replicaset.apps "gone" deleted\n')
    _eventually(team, ["replicaset.apps/kept", "pod/kept-1", "pod/kept-2"])


def test_in_the_foreground_the_owner_goes_last(team: Operator) -> None:
    _family(team, "web")
    team('patch pod web-1 --type=merge -p \'{"metadata":{"finalizers":["x.example/hold"]}}\'')
    assert team("delete rs web --cascade=foreground --wait=false") == 'replicaset.apps "web" deleted\n'
    _eventually(team, ["replicaset.apps/web", "pod/web-1"])
    owner = team.yaml("get rs web")["metadata"]
    assert owner["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" in owner
    team('patch pod web-1 --type=merge -p \'{"metadata":{"finalizers":null}}\'')
    _eventually(team, [])


def test_orphans_stay_and_forget_their_owner(team: Operator) -> None:
    _family(team, "web")
    assert team("delete rs web --cascade=orphan") == 'replicaset.apps "web" deleted\n'
    assert _left(team) == ["pod/web-1", "pod/web-2"]
    assert team.asked("get pods -o jsonpath='{.items[*].metadata.ownerReferences}'") == ""


def test_a_namesake_with_another_uid_is_no_owner(team: Operator) -> None:
    team("create -f -", workload("ReplicaSet", "web"))
    stranger = owned(pod("stranger"), workload("ReplicaSet", "web"), "00000000-0000-0000-0000-000000000000")
    team("create -f -", stranger)
    _eventually(team, ["replicaset.apps/web"])


def test_by_selector_by_all_and_by_file(team: Operator) -> None:
    both = [config("a", labels={"x": "1"}), config("b", labels={"x": "1"})]
    team("create -f -", [*both, config("c"), config("d"), config("e")])
    assert team("delete cm -l x=1") == 'configmap "a" deleted\nconfigmap "b" deleted\n'
    assert team("delete -f -", config("c")) == 'configmap "c" deleted\n'
    assert team("delete cm d -o name") == "configmap/d\n"
    assert team("delete cm --all --dry-run=server") == 'configmap "e" deleted (server dry run)\n'
    assert team("delete cm --all") == 'configmap "e" deleted\n'
    assert team("delete cm --all") == "No resources found\n"
    assert team.refused("delete cm e") == 'Error from server (NotFound): configmaps "e" not found\n'
    assert team("delete cm e --ignore-not-found") == ""


def test_a_bound_pod_is_terminating_until_its_node_lets_go(team: Operator) -> None:
    team("create -f -", pod("p", node="somewhere"))
    team("delete pod p --wait=false")
    assert team.asked("get pod p -o jsonpath={.metadata.deletionGracePeriodSeconds}") == "30"
    assert table(team("get pods"))[0]["STATUS"] == "Terminating"
    first = team.asked("get pod p -o jsonpath={.metadata.deletionTimestamp}")
    team("delete pod p --grace-period=5 --wait=false")
    assert team.asked("get pod p -o jsonpath={.metadata.deletionGracePeriodSeconds}") == "5"
    team("delete pod p --grace-period=60 --wait=false")
    assert team.asked("get pod p -o jsonpath={.metadata.deletionGracePeriodSeconds}") == "5"
    assert team.asked("get pod p -o jsonpath={.metadata.deletionTimestamp}") < first
    team("delete pod p --now --wait=false")
    assert team.asked("get pod p -o jsonpath={.metadata.deletionGracePeriodSeconds}") == "1"
    done = team.run("delete pod p --force --grace-period=0")
    assert (done.code, done.out) == (0, 'pod "p" force deleted\n')
    assert "(NotFound)" in team.refused("get pod p")


def test_a_pod_that_no_node_has_goes_at_once(team: Operator) -> None:
    team("create -f -", pod("p"))
    assert team("delete pod p") == 'pod "p" deleted\n'
    assert "(NotFound)" in team.refused("get pod p")


def test_a_finalizer_holds_the_object_until_it_is_taken_off(team: Operator) -> None:
    team("create -f -", config("c", finalizers=["x.example/hold"]))
    done = team.run("delete cm c --timeout=3s")
    assert (done.code, done.out) == (1, 'configmap "c" deleted\n')
    assert "error: timed out waiting for the condition on configmaps/c" in done.err
    found = team.yaml("get cm c")["metadata"]
    assert found["finalizers"] == ["x.example/hold"]
    assert "deletionTimestamp" in found
    more = '{"metadata":{"finalizers":["x.example/hold","x.example/more"]}}'
    said = team.refused(f"patch cm c --type=merge -p '{more}'")
    assert "no new finalizers can be added if the object is being deleted" in said
    team('patch cm c --type=merge -p \'{"metadata":{"finalizers":null}}\'')
    assert "(NotFound)" in team.refused("get cm c")


def test_a_namespace_takes_everything_in_it_along(kubectl: Operator) -> None:
    kubectl("create namespace doomed")
    doomed = kubectl.inside("doomed")
    doomed("create -f -", [config("a"), pod("p"), workload("Deployment", "web")])
    assert kubectl("delete namespace doomed") == 'namespace "doomed" deleted\n'
    assert "(NotFound)" in kubectl.refused("get namespace doomed")
    kubectl("create namespace doomed")
    assert doomed.run("get cm,pods,deploy").err.startswith("No resources found")


def test_a_namespace_that_is_going_takes_nothing_new(kubectl: Operator) -> None:
    kubectl("create namespace slow")
    slow = kubectl.inside("slow")
    slow("create -f -", config("held", finalizers=["x.example/hold"]))
    kubectl("delete namespace slow --wait=false")
    assert table(kubectl("get ns slow"))[0]["STATUS"] == "Terminating"
    said = slow.refused("create cm late")
    assert 'configmaps "late" is forbidden: unable to create new content in namespace slow' in said
    kubectl("wait --for=condition=NamespaceFinalizersRemaining namespace/slow --timeout=90s")
    told = kubectl("describe namespace slow")
    assert "Some resources are remaining: configmaps" in told
    assert "Some content in the namespace has finalizers remaining: x.example/hold" in told
    slow('patch cm held --type=merge -p \'{"metadata":{"finalizers":null}}\'')
    kubectl("wait --for=delete namespace/slow --timeout=90s")


def test_a_namespace_with_many_objects_goes_turn_by_turn(kubectl: Operator) -> None:
    kubectl("create namespace full")
    full = kubectl.inside("full")
    full("create -f -", [config(f"c{number:03}") for number in range(150)])
    kubectl("delete namespace full --timeout=90s")
    assert full.run("get cm").err.startswith("No resources found")


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_namespaces_that_must_stay(kubectl: Operator, name: str) -> None:
    said = kubectl.refused(f"delete namespace {name}")
    assert said == (
        f'Error from server (Forbidden): namespaces "{name}" is forbidden: this namespace may not be deleted\n'
    )
