"""edit, patch, replace, label, annotate and set: every way in which kubectl changes an object that is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients.kubectl import Operator
from tests.clients.manifests import config, workload


def _script(directory: Path, *lines: str) -> str:
    path = directory / "editor"
    path.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
    path.chmod(0o755)
    return str(path)


def test_edit_sends_what_the_editor_saved(team: Operator, tmp_path: Path) -> None:
    team("create cm c --from-literal=a=old")
    editor = _script(tmp_path, "sed -i 's/a: old/a: new/' \"$1\"")
    assert team("edit cm c", KUBE_EDITOR=editor) == "configmap/c edited\n"
    assert team.asked("get cm c -o jsonpath={.data.a}") == "new"
    done = team.run("edit cm c", KUBE_EDITOR=editor)
    assert (done.code, done.out + done.err) == (0, "Edit cancelled, no changes made.\n")


def test_edit_opens_again_with_the_reason_when_the_result_is_wrong(team: Operator, tmp_path: Path) -> None:
    team("create cm c --from-literal=a=old")
    editor = _script(
        tmp_path,
        f'cat "$1" >> {tmp_path}/seen',
        f"if [ -e {tmp_path}/again ]; then sed -i 's/not a label/label/' \"$1\"; exit; fi",
        f"touch {tmp_path}/again",
        'sed -i \'s/^metadata:/metadata:\\n  labels:\\n    x: "not a label"/\' "$1"',
    )
    done = team.run("edit cm c", KUBE_EDITOR=editor)
    assert (done.code, done.out) == (0, "configmap/c edited\n")
    assert 'error: configmaps "c" is invalid' in done.err
    seen = (tmp_path / "seen").read_text()
    assert '# * metadata.labels: Invalid value: "not a label"' in seen
    assert team.asked("get cm c -o jsonpath={.metadata.labels.x}") == "label"


def test_edit_of_a_workload_raises_its_generation(team: Operator, tmp_path: Path) -> None:
    team("create -f -", workload("Deployment", "web", replicas=1))
    editor = _script(tmp_path, "sed -i 's/replicas: 1/replicas: 7/' \"$1\"")
    assert team("edit deploy web", KUBE_EDITOR=editor) == "deployment.apps/web edited\n"
    assert team.asked("get deploy web -o jsonpath={.spec.replicas}/{.metadata.generation}") == "7/2"


def test_a_strategic_patch_merges_containers_by_name(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web"))
    containers = [{"name": "side", "image": "side:1"}]
    patch = json.dumps({"spec": {"template": {"spec": {"containers": containers}}}})
    assert team(f"patch deploy web -p '{patch}'") == "deployment.apps/web patched\n"
    names = "get deploy web -o jsonpath={.spec.template.spec.containers[*].name}"
    assert team(names) == "side main"
    assert team(f"patch deploy web -p '{patch}'") == "deployment.apps/web patched (no change)\n"
    gone = json.dumps(
        {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}}
    )
    team(f"patch deploy web -p '{gone}'")
    assert team(names) == "main"


def test_a_merge_patch_replaces_lists_and_removes_by_null(team: Operator) -> None:
    team("create -f -", config("c", {"a": "1", "b": "2"}, finalizers=["x.example/one", "x.example/two"]))
    patch = '{"data":{"a":null,"c":"3"},"metadata":{"finalizers":["x.example/two"]}}'
    assert team(f"patch cm c --type=merge -p '{patch}'") == "configmap/c patched\n"
    found = team.yaml("get cm c")
    assert found["data"] == {"b": "2", "c": "3"}
    assert found["metadata"]["finalizers"] == ["x.example/two"]


def test_a_json_patch_is_done_as_a_whole_or_not_at_all(team: Operator) -> None:
    team("create cm c --from-literal=a=1")
    operations = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "2"},
        {"op": "add", "path": "/data/b", "value": "3"},
    ]
    assert team(f"patch cm c --type=json -p '{json.dumps(operations)}'") == "configmap/c patched\n"
    said = team.refused(f"patch cm c --type=json -p '{json.dumps(operations[::-1])}'")
    assert said.startswith("The request is invalid: ")
    assert "/data/a" in said
    assert team.yaml("get cm c")["data"] == {"a": "2", "b": "3"}


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ('{"spec":{"replicas":"x"}}', 'spec.replicas: Invalid value: "x"'),
        ('{"spec":{"replicas":-1}}', "spec.replicas: Invalid value: -1"),
        ('{"spec":{"selector":{"matchLabels":{"a":"b"}}}}', "field is immutable"),
        ('{"metadata":{"uid":"other"}}', "Precondition failed: UID in precondition: other"),
        ('{"metadata":{"resourceVersion":"1"}}', "the object has been modified"),
        ('{"metadata":{"name":"other"}}', "name"),
        ("{not json", "(BadRequest)"),
    ],
)
def test_patches_that_are_refused(kubectl: Operator, patch: str, said: str) -> None:
    kubectl.run("create -f -", workload("Deployment", "fixed", replicas=1))
    before = kubectl("get deploy fixed -o yaml")
    assert said in kubectl.refused(f"patch deploy fixed --type=merge -p '{patch}'")
    assert kubectl("get deploy fixed -o yaml") == before


def test_status_and_spec_are_changed_apart(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web", replicas=3))
    both = '{"spec":{"replicas":9},"status":{"replicas":3,"readyReplicas":1,"availableReplicas":1}}'
    team(f"patch deploy web --subresource=status --type=merge -p '{both}'")
    wanted = "get deploy web -o jsonpath={.spec.replicas}/{.status.readyReplicas}/{.metadata.generation}"
    assert team(wanted) == "3/1/1"
    team(f"patch deploy web --type=merge -p '{both.replace('1', '2')}'")
    assert team(wanted) == "9/1/2"
    assert team("get deploy web --no-headers").split()[1] == "1/9"


def test_replace_wants_the_latest_version_if_it_names_one(team: Operator) -> None:
    team("create -f -", config("c", {"a": "1"}, labels={"x": "y"}))
    old = team.yaml("get cm c")
    assert team("replace -f -", config("c", {"b": "2"})) == "configmap/c replaced\n"
    found = team.yaml("get cm c")
    assert found["data"] == {"b": "2"}
    assert "labels" not in found["metadata"]
    assert found["metadata"]["uid"] == old["metadata"]["uid"]
    said = team.refused("replace -f -", old)
    assert said == (
        'Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on configmaps "c":'
        " the object has been modified; please apply your changes to the latest version and try again\n"
    )
    assert "(NotFound)" in team.refused("replace -f -", config("none"))


def test_replace_by_force_makes_a_new_object(team: Operator) -> None:
    team("create -f -", config("c", {"a": "1"}))
    uid = team.asked("get cm c -o jsonpath={.metadata.uid}")
    done = team.run("replace --force -f -", config("c", {"a": "2"}))
    assert (done.code, done.out) == (0, 'configmap "c" deleted\nconfigmap/c replaced\n')
    assert team.asked("get cm c -o jsonpath={.metadata.uid}") != uid


def test_labels(team: Operator) -> None:
    team("create -f -", [config("a"), config("b")])
    assert team("label cm a x=1") == "configmap/a labeled\n"
    assert team("label cm a x=1") == "configmap/a not labeled\n"
    assert team.refused("label cm a x=2") == "error: 'x' already has a value (1), and --overwrite is false\n"
    assert team("label cm a x=2 --overwrite") == "configmap/a labeled\n"
    assert team("label cm --all y=z") == "configmap/a labeled\nconfigmap/b labeled\n"
    assert team.asked("get cm -l x=2,y=z -o name") == "configmap/a\n"
    assert team("label cm a x-") == "configmap/a unlabeled\n"
    assert team("label cm a --list") == "y=z\n"
    assert "the object has been modified" in team.refused("label cm a q=r --resource-version=1")
    assert "metadata.labels: Invalid value" in team.refused("label cm a 'bad key=1'")


def test_annotations(team: Operator) -> None:
    team("create -f -", config("a"))
    assert team("annotate cm a why=because") == "configmap/a annotated\n"
    assert "already has a value (because)" in team.refused("annotate cm a why=not")
    assert team("annotate cm a why=not --overwrite other='two words'") == "configmap/a annotated\n"
    assert team.yaml("get cm a")["metadata"]["annotations"] == {"why": "not", "other": "two words"}
    team("annotate cm a why- other-")
    assert "annotations" not in team.yaml("get cm a")["metadata"]


def test_set_changes_the_template(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web"))
    assert team("set image deploy/web main=web:2") == "deployment.apps/web image updated\n"
    assert team("set image deploy/web main=web:2") == ""
    assert team.refused("set image deploy/web none=web:2") == 'error: unable to find container named "none"\n'
    assert team("set env deploy/web A=1 B=2") == "deployment.apps/web env updated\n"
    assert team("set env deploy/web A-") == "deployment.apps/web env updated\n"
    assert team("set env deploy/web --list") == "# Deployment web, container main\nB=2\n"
    said = team("set resources deploy/web --limits=cpu=1 --requests=cpu=500m")
    assert said == "deployment.apps/web resource requirements updated\n"
    team("set serviceaccount deploy web robot")
    spec = team.yaml("get deploy web")["spec"]["template"]["spec"]
    assert spec["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}
    assert (spec["containers"][0]["image"], spec["serviceAccountName"]) == ("web:2", "robot")
    assert "must be less than or equal to cpu limit" in team.refused(
        "set resources deploy/web --requests=cpu=2"
    )
