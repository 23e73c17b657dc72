"""Client-side apply: created, unchanged, configured; removed fields; prune; diff with its exit codes."""

from __future__ import annotations

from typing import Any

from tests.clients.kubectl import Operator
from tests.clients.manifests import config, workload

SHARED = True  # the server, with other modules

LAST = "kubectl.kubernetes.io/last-applied-configuration"


def _web(image: str, *, second: bool = False, env: bool = False) -> dict[str, Any]:
    found = workload("Deployment", "web", replicas=2)
    main: dict[str, Any] = {"name": "main", "image": image, "ports": [{"containerPort": 80}]}
    if env:
        main["env"] = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    containers = [main, {"name": "side", "image": "side:1"}] if second else [main]
    found["spec"]["template"]["spec"] = {"containers": containers}
    return found


def test_apply_creates_then_leaves_alone_then_configures(team: Operator) -> None:
    assert team("apply -f -", config("c", {"a": "1"})) == "configmap/c created\n"
    first = team.asked("get cm c -o jsonpath={.metadata.resourceVersion}")
    assert team("apply -f -", config("c", {"a": "1"})) == "configmap/c unchanged\n"
    assert team.asked("get cm c -o jsonpath={.metadata.resourceVersion}") == first
    assert team("apply -f -", config("c", {"a": "2"})) == "configmap/c configured\n"
    assert team.asked("get cm c -o jsonpath={.data.a}") == "2"


def test_fields_that_left_the_file_leave_the_object(team: Operator) -> None:
    team("apply -f -", config("c", {"a": "1", "b": "2"}, labels={"x": "1", "y": "2"}))
    team('patch cm c --type=merge -p \'{"data":{"other":"kept"}}\'')
    team("apply -f -", config("c", {"a": "1"}, labels={"y": "2"}))
    found = team.yaml("get cm c")
    assert found["data"] == {"a": "1", "other": "kept"}
    assert found["metadata"]["labels"] == {"y": "2"}


def test_lists_of_named_things_merge_by_name(team: Operator) -> None:
    team("apply -f -", _web("web:1", second=True, env=True))
    assert team("apply -f -", _web("web:1", second=True, env=True)) == "deployment.apps/web unchanged\n"
    team("set env deploy/web -c main EXTRA=here")
    assert team("apply -f -", _web("web:2", env=True)) == "deployment.apps/web configured\n"
    found = team.yaml("get deploy web")
    (main,) = found["spec"]["template"]["spec"]["containers"]
    assert main["image"] == "web:2"
    assert [each["name"] for each in main["env"]] == ["A", "B", "EXTRA"]
    assert found["metadata"]["generation"] == 3


def test_what_was_scaled_by_hand_is_put_back_by_the_file(team: Operator) -> None:
    team("apply -f -", _web("web:1"))
    team("scale deploy web --replicas=7")
    assert team("apply -f -", _web("web:1")) == "deployment.apps/web configured\n"
    assert team.asked("get deploy web -o jsonpath={.spec.replicas}") == "2"


def test_several_documents_at_once(team: Operator) -> None:
    many = [config("a"), {"apiVersion": "v1", "kind": "List", "items": [config("b"), _web("web:1")]}]
    assert (
        team("apply -f -", many) == "configmap/a created\nconfigmap/b created\ndeployment.apps/web created\n"
    )
    many[0] = config("a", {"new": "field"})
    assert (
        team("apply -f -", many)
        == "configmap/a configured\nconfigmap/b unchanged\ndeployment.apps/web unchanged\n"
    )


def test_apply_on_an_object_that_was_created_says_so_once(team: Operator) -> None:
    team("create cm c --from-literal=a=1")
    done = team.run("apply -f -", config("c", {"a": "2"}))
    assert (done.code, done.out) == (0, "configmap/c configured\n")
    assert f"missing the {LAST} annotation" in done.err
    assert team("apply -f -", config("c", {"a": "2"})) == "configmap/c unchanged\n"
    assert 'a: "2"' in team("apply view-last-applied cm/c")


def test_prune_removes_what_the_file_no_longer_has(team: Operator) -> None:
    labels = {"set": "one"}
    team("apply -f -", [config("a", labels=labels), config("b", labels=labels), config("c")])
    said = team(
        "apply -f - --prune -l set=one --prune-allowlist=core/v1/ConfigMap", config("a", labels=labels)
    )
    assert said == "configmap/a unchanged\nconfigmap/b pruned\n"
    assert team.asked("get cm -o name") == "configmap/a\nconfigmap/c\n"


def test_dry_runs_change_nothing(team: Operator) -> None:
    team("apply -f -", config("c", {"a": "1"}))
    changed = config("c", {"a": "2"})
    assert team("apply -f - --dry-run=server", changed) == "configmap/c configured (server dry run)\n"
    assert team("apply -f - --dry-run=client", changed) == "configmap/c configured (dry run)\n"
    assert team.asked("get cm c -o jsonpath={.data.a}") == "1"
    assert team("apply -f - --dry-run=server", config("new")) == "configmap/new created (server dry run)\n"
    assert "not found" in team.refused("get cm new")


def test_diff_ends_with_0_without_and_with_1_with_differences(team: Operator) -> None:
    team("apply -f -", _web("web:1", env=True))
    assert team.run("diff -f -", _web("web:1", env=True)) == (0, "", "")
    done = team.run("diff -f -", _web("web:2"))
    assert (done.code, done.err) == (1, "")
    changed = [line for line in done.out.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert "-  generation: 1" in changed
    assert "+  generation: 2" in changed
    assert "+      - image: web:2" in changed
    assert '-          value: "1"' in changed
    assert not [line for line in changed if "resourceVersion" in line or "uid" in line]
    assert team.asked("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}") == "web:1"


def test_diff_of_a_new_object_shows_all_of_it(team: Operator) -> None:
    done = team.run("diff -f -", config("new", {"a": "1"}))
    assert done.code == 1
    assert '+  a: "1"' in done.out.splitlines()


def test_diff_of_a_wrong_object_is_an_error_not_a_difference(team: Operator) -> None:
    done = team.run("diff -f -", config("Not_A_Name"))
    assert done.code > 1
    assert "metadata.name" in done.err


def test_a_wrong_object_among_good_ones_does_not_hold_them_up(team: Operator) -> None:
    done = team.run("apply -f -", [config("a"), config("Bad"), config("b")])
    assert (done.code, done.out) == (1, "configmap/a created\nconfigmap/b created\n")
    assert 'The ConfigMap "Bad" is invalid' in done.err
