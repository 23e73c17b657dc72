"""kubectl apply --server-side: created, repeated, in conflict, forced; several managers; from client-side apply."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests import nursery
from tests.clients.kubectl import Operator
from tests.clients.manifests import config, workload

SHARED = True  # the server, with other modules

LAST = "kubectl.kubernetes.io/last-applied-configuration"
ADVICE = "Please review the fields above--they currently have other managers."


def web(image: str = "web:1", replicas: int | None = 2, **container: Any) -> dict[str, Any]:
    found = workload("Deployment", "web", replicas=replicas or 0)
    if replicas is None:
        del found["spec"]["replicas"]
    main = {"name": "main", "image": image, **container}
    found["spec"]["template"]["spec"] = {"containers": [main]}
    return found


def part(*containers: Any, **spec: Any) -> dict[str, Any]:
    """A part of that Deployment."""
    if containers:
        spec["template"] = {"spec": {"containers": list(containers)}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def managers(team: Operator, what: str) -> dict[str, Any]:
    found = json.loads(team(f"get {what} -o json --show-managed-fields"))
    return {
        " ".join(filter(None, (each["manager"], each["operation"], each.get("subresource")))): each[
            "fieldsV1"
        ]
        for each in found["metadata"]["managedFields"]
    }


def test_apply_again_and_again(team: Operator) -> None:
    said = "configmap/c serverside-applied\n"
    assert team("apply --server-side -f -", config("c", {"a": "1"})) == said
    first = team.asked("get cm c -o jsonpath={.metadata.resourceVersion}")
    assert team("apply --server-side -f -", config("c", {"a": "1"})) == said
    assert team.asked("get cm c -o jsonpath={.metadata.resourceVersion}") == first
    assert team("apply --server-side -f -", config("c", {"b": "2"})) == said
    assert team.yaml("get cm c")["data"] == {"b": "2"}
    assert managers(team, "cm c") == {"kubectl Apply": {"f:data": {"f:b": {}}}}


def test_managed_fields_are_shown_only_when_asked_for(team: Operator) -> None:
    team("apply --server-side -f -", config("c", {"a": "1"}))
    assert "managedFields" not in team("get cm c -o yaml")
    assert "managedFields" in team("get cm c -o yaml --show-managed-fields")


def test_a_conflict_names_the_manager_and_kubectl_gives_its_advice(team: Operator) -> None:
    team("apply --server-side --field-manager=first -f -", web())
    refused = team.refused("apply --server-side --field-manager=second -f -", part(replicas=5))
    assert 'Apply failed with 1 conflict: conflict with "first": .spec.replicas' in refused
    assert ADVICE in refused
    assert team.asked("get deploy web -o jsonpath={.spec.replicas}") == "2"
    several = team.refused(
        "apply --server-side --field-manager=second -f -",
        part({"name": "main", "image": "web:2"}, replicas=5),
    )
    assert 'Apply failed with 2 conflicts: conflicts with "first":\n- .spec.replicas\n- ' in several
    assert '.spec.template.spec.containers[name="main"].image' in several


def test_force_takes_the_field_over(team: Operator) -> None:
    team("apply --server-side --field-manager=first -f -", web())
    team("apply --server-side --field-manager=second --force-conflicts -f -", part(replicas=5))
    assert team.asked("get deploy web -o jsonpath={.spec.replicas}") == "5"
    found = managers(team, "deploy web")
    assert found["second Apply"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in found["first Apply"]["f:spec"]
    refused = team.refused("apply --server-side --field-manager=first -f -", web())
    assert 'conflict with "second": .spec.replicas' in refused


def test_two_managers_share_what_they_agree_on(team: Operator) -> None:
    team("apply --server-side --field-manager=first -f -", config("c", {"a": "1", "b": "1"}))
    team("apply --server-side --field-manager=second -f -", config("c", {"a": "1"}))
    team("apply --server-side --field-manager=first -f -", config("c", {"b": "1"}))
    assert team.yaml("get cm c")["data"] == {"a": "1", "b": "1"}
    team("apply --server-side --field-manager=second -f -", config("c", {}))
    assert team.yaml("get cm c")["data"] == {"b": "1"}


def test_containers_and_ports_merge_by_their_keys(team: Operator) -> None:
    team("apply --server-side --field-manager=app -f -", web(ports=[{"containerPort": 80}]))
    mesh = [
        {"name": "main", "ports": [{"containerPort": 15090, "name": "metrics"}]},
        {"name": "proxy", "image": "proxy:1"},
    ]
    team("apply --server-side --field-manager=mesh -f -", part(*mesh))
    main, proxy = team.yaml("get deploy web")["spec"]["template"]["spec"]["containers"]
    assert [each["containerPort"] for each in main["ports"]] == [80, 15090]
    assert (main["image"], proxy["name"]) == ("web:1", "proxy")
    team("apply --server-side --field-manager=app -f -", web("web:2"))
    main, proxy = team.yaml("get deploy web")["spec"]["template"]["spec"]["containers"]
    assert [each["containerPort"] for each in main["ports"]] == [15090]
    assert (main["image"], proxy["name"]) == ("web:2", "proxy")


def test_what_was_done_by_hand_is_in_the_way_of_apply_only_where_it_differs(team: Operator) -> None:
    team("apply --server-side -f -", web())
    team("label deploy web tier=front")
    team("annotate deploy web note=x")
    assert team("apply --server-side -f -", web()) == "deployment.apps/web serverside-applied\n"
    team("scale deploy web --replicas=7")
    refused = team.refused("apply --server-side -f -", web())
    assert '"kubectl" with subresource "scale" using apps/v1: .spec.replicas' in refused
    assert team("apply --server-side -f -", web(replicas=None)) == "deployment.apps/web serverside-applied\n"
    found = team.yaml("get deploy web")
    assert (found["spec"]["replicas"], found["metadata"]["labels"]["tier"]) == (7, "front")
    team("set image deploy/web main=web:9")
    refused = team.refused("apply --server-side -f -", web(replicas=None))
    assert (
        'conflict with "kubectl-set" using apps/v1: .spec.template.spec.containers[name="main"].image'
        in refused
    )
    team("apply --server-side --force-conflicts -f -", web(replicas=None))
    assert team.yaml("get deploy web")["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"


def test_an_edited_object_is_its_editors(team: Operator) -> None:
    team("apply --server-side -f -", config("c", {"a": "1", "b": "1"}))
    team("edit cm c", KUBE_EDITOR='sed -i "s/^  a: .*/  a: changed/"')
    assert managers(team, "cm c") == {
        "kubectl Apply": {"f:data": {"f:b": {}}},
        "kubectl-edit Update": {"f:data": {"f:a": {}}},
    }


def test_from_client_side_apply_to_server_side_and_on(team: Operator) -> None:
    team("apply -f -", web(ports=[{"containerPort": 80}]))
    assert "kubectl-client-side-apply Update" in managers(team, "deploy web")
    team("apply --server-side -f -", web("web:2"))
    found = managers(team, "deploy web")
    assert not any("client-side" in name for name in found), found
    main = team.yaml("get deploy web")["spec"]["template"]["spec"]["containers"][0]
    assert main["image"] == "web:2"
    # What client-side apply had set is the same manager's, and goes when it is no longer named.
    team("apply --server-side -f -", web("web:3"))
    main = team.yaml("get deploy web")["spec"]["template"]["spec"]["containers"][0]
    assert (main["image"], "ports" in main) == ("web:3", False)
    last = json.loads(team("apply view-last-applied deploy web -o json"))
    assert last["spec"]["template"]["spec"]["containers"][0]["image"] == "web:3"


def test_objects_made_otherwise_are_their_makers(team: Operator) -> None:
    team("create cm c --from-literal=a=1")
    assert managers(team, "cm c") == {"kubectl-create Update": {"f:data": {".": {}, "f:a": {}}}}
    refused = team.refused("apply --server-side --field-manager=me -f -", config("c", {"a": "2"}))
    assert 'conflict with "kubectl-create" using v1: .data.a' in refused


def test_diff_shows_what_server_side_apply_would_do(team: Operator) -> None:
    team("apply --server-side -f -", config("c", {"a": "1", "b": "1"}))
    before = team.asked("get cm c -o jsonpath={.metadata.resourceVersion}")
    done = team.run("diff --server-side -f -", config("c", {"a": "2"}))
    assert done.code == 1, done
    assert '-  a: "1"' in done.out
    assert '+  a: "2"' in done.out
    assert '-  b: "1"' in done.out
    assert team.run("diff --server-side -f -", config("c", {"a": "1", "b": "1"})).code == 0
    assert team.asked("get cm c -o jsonpath={.metadata.resourceVersion}") == before


def test_a_dry_run_changes_nothing(team: Operator) -> None:
    said = team("apply --server-side --dry-run=server -f -", config("c", {"a": "1"}))
    assert said == "configmap/c serverside-applied (server dry run)\n"
    assert 'configmaps "c" not found' in team.refused("get cm c")


def test_status_is_applied_through_its_own_address(team: Operator) -> None:
    team("apply --server-side -f -", web())
    status = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "status": {"replicas": 2},
    }
    team("apply --server-side --subresource=status --field-manager=me -f -", status)
    assert team.asked("get deploy web -o jsonpath={.status.replicas}") == "2"
    assert managers(team, "deploy web")["me Apply status"] == {"f:status": {"f:replicas": {}}}


def test_a_field_that_does_not_exist_is_refused_by_name(team: Operator) -> None:
    refused = team.refused("apply --server-side -f -", {**config("c", {"a": "1"}), "dta": {"b": "1"}})
    assert "dta" in refused


def test_fairlead_get_shows_managed_fields_only_when_asked_for(team: Operator) -> None:
    team("apply --server-side -f -", config("c", {"a": "1"}))

    def shown(*options: str) -> str:
        words = ["get", "cm", "c", "-n", team.namespace, "-o", "yaml", "--kubeconfig", str(team.kubeconfig)]
        done = subprocess.run(
            [nursery.command(), *words, *options], capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    assert "managedFields" not in shown()
    assert "f:a: {}" in shown("--show-managed-fields")


def test_a_map_that_is_emptied_is_owned_without_its_keys_and_free_for_others(team: Operator) -> None:
    emptied = {**config("c"), "data": {}}
    team("apply --server-side -f -", config("c", {"a": "1"}))
    team("apply --server-side -f -", emptied)
    assert managers(team, "cm c") == {"kubectl Apply": {"f:data": {}}}
    assert not team.yaml("get cm c").get("data")
    team("apply --server-side --field-manager=other -f -", config("c", {"b": "2"}))
    team("apply --server-side -f -", emptied)
    assert team.yaml("get cm c")["data"] == {"b": "2"}
    assert managers(team, "cm c") == {
        "kubectl Apply": {"f:data": {}},
        "other Apply": {"f:data": {"f:b": {}}},
    }


def test_what_says_nothing_but_its_name_is_created_and_owned_by_nobody(team: Operator) -> None:
    bare = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    for _ in range(2):
        assert team("apply --server-side -f -", bare) == "serviceaccount/robot serverside-applied\n"
    found = json.loads(team("get sa robot -o json --show-managed-fields"))
    assert "managedFields" not in found["metadata"]
    pulls = {**bare, "imagePullSecrets": [{"name": "x"}]}
    team("apply --server-side --field-manager=other -f -", pulls)
    assert managers(team, "sa robot") == {"other Apply": {"f:imagePullSecrets": {}}}
