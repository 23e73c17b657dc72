"""The command line in front of a plane, by a person who may not do everything: what a run may, it may as they may."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.clients.converging import eventually
from tests.clients.kubectl import Operator
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "1")
Json = dict[str, Any]
Said = tuple[int, str]


def _book(name: str, *steps: Json) -> Json:
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "Runbook",
        "metadata": {"name": name},
        "spec": {
            "summary": "for tests",
            "page": "WHEN   somebody tests it.",
            "params": [{"name": "node", "default": "hollow-0"}],
            "read": [{"name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "matchLabels": {}}],
            "preconditions": [{"name": "calm", "expression": "!maps.exists(m, m.metadata.name == 'storm')"}],
            "steps": [
                {
                    "name": "note",
                    "create": {"object": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}},
                },
                *steps,
            ],
            "postconditions": [{"name": "calm", "expression": "size(maps) > 0"}],
        },
    }


_CORDON = {"name": "cordon", "verb": {"verb": "cordon", "name": "${node}"}}
_ASK = {
    "name": "confirm",
    "ask": {"question": "cordon ${node}?", "fields": [{"name": "go", "type": "boolean"}]},
}


@pytest.fixture(scope="module")
def jane(server: Running, kubectl: Operator) -> Callable[[str], Said]:
    """May edit in `default`, and cordon nothing."""
    file = server.directory.parent / "jane.kubeconfig"
    words: list[str | Path] = [
        nursery.command(),
        "token",
        "create",
        "--name",
        "jane",
        "--data-dir",
        server.directory,
        "-o",
        file,
    ]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    kubectl("create rolebinding jane --clusterrole=edit --user=jane")
    for book in (
        _book("notes"),
        _book("cordons", _CORDON),
        _book("asks", _ASK, {**_CORDON, "when": "answers.confirm.go"}),
    ):
        kubectl("apply -f -", book)

    def run(line: str) -> Said:
        done = subprocess.run(
            [nursery.command(), *shlex.split(line), "--kubeconfig", file],
            text=True,
            capture_output=True,
            timeout=60,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_run_is_made_with_the_rights_of_a_role_in_one_namespace(jane: Callable[[str], Said]) -> None:
    code, said = jane("runbook run notes --name jane-1 --follow -n default")
    assert (code, "note: Done  configmap/jane-1-" in said, "Succeeded: it helped" in said) == (
        0,
        True,
        True,
    ), said
    _, said = jane("runbook status jane-1 -n default")
    assert "default/jane-1: notes, Succeeded, by jane" in said


def test_a_step_that_she_may_not_do_ends_the_run_and_undoes_the_rest(
    jane: Callable[[str], Said], kubectl: Operator
) -> None:
    code, said = jane("runbook run cordons --name jane-2 --follow -n default")
    assert code == 1
    assert 'User "jane" cannot patch resource "nodes"' in said
    assert "note: Undone" in said
    node = json.loads(kubectl.asked("get node hollow-0 -o json"))
    assert not node["spec"].get("unschedulable")
    assert (
        json.loads(kubectl.asked("get configmaps -l fairlead.dev/runbook-run=jane-2 -o json"))["items"] == []
    )


def test_a_dry_run_says_what_stands_in_the_way_and_changes_nothing(
    jane: Callable[[str], Said], kubectl: Operator
) -> None:
    before = json.loads(kubectl.asked("get runbookruns,configmaps -o json"))["items"]
    code, said = jane("runbook run notes --dry-run -n default")
    assert (code, "it would begin; nothing was changed" in said) == (0, True), said
    kubectl("create configmap storm")
    code, said = jane("runbook run notes --dry-run -n default -o json")
    kubectl("delete configmap storm")
    found = json.loads(said)
    assert (code, found["mayBegin"], found["lines"][0]["holds"]) == (1, False, False)
    assert json.loads(kubectl.asked("get runbookruns,configmaps -o json"))["items"] == before


def test_a_question_is_answered_with_what_was_asked(jane: Callable[[str], Said], kubectl: Operator) -> None:
    code, said = jane("runbook run asks --name jane-3 --follow -n default")
    assert (code, "asks: cordon hollow-0?" in said) == (1, True), said
    assert "fairlead runbook answer jane-3 confirm go=... -n default" in said
    for wrong, says in (
        ("go=maybe", "must be true or false"),
        ("gone=true", "there is no such field"),
        ("go", "NAME=VALUE"),
    ):
        code, said = jane(f"runbook answer jane-3 confirm {wrong} -n default")
        assert (code != 0, says in said) == (True, True), said
    assert jane("runbook answer jane-3 confirm go=false -n default")[0] == 0
    eventually(
        lambda: "Succeeded" in jane("runbook runs -n default")[1].partition("jane-3")[2].partition("\n")[0]
    )
    steps = json.loads(kubectl.asked("get runbookrun jane-3 -o json"))["status"]["steps"]
    assert [each["state"] for each in steps] == ["Done", "Done", "Skipped"]


def test_installing_again_changes_what_differs(
    jane: Callable[[str], Said], server: Running, tmp_path: Path
) -> None:
    def install(book: Json) -> Said:
        (tmp_path / "book.json").write_text(json.dumps(book))
        words: list[str | Path] = [
            nursery.command(),
            "runbook",
            "install",
            tmp_path,
            "--kubeconfig",
            server.kubeconfig,
        ]
        done = subprocess.run(words, text=True, capture_output=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    assert install(_book("again")) == (0, "runbook again created\n")
    assert install(_book("again")) == (0, "runbook again unchanged\n")
    assert install(_book("again", _CORDON)) == (0, "runbook again configured\n")
    broken = _book("again")
    del broken["spec"]["postconditions"]
    code, said = install(broken)
    assert (code, "how does one see that it helped?" in said) == (1, True)


_MEASURES = {
    "metrics": [{"name": "leads", "metric": "fairlead_plane_leads"}],
    "decisions": [
        {
            "name": "decided",
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "objectName": "measured",
            "controller": "deployment",  # whether progress decided about it last is a matter of time
        }
    ],
}


def test_a_run_sees_metrics_and_decisions_and_keeps_what_it_saw(
    jane: Callable[[str], Said], kubectl: Operator
) -> None:
    kubectl("create deployment measured --image=x")
    book = _book("measures")
    seen = "leads == 1 && decided.recorded > 0 && decided.last.controller == 'deployment'"
    condition = {"name": "seen", "expression": seen}
    book["spec"].update(_MEASURES, postconditions=[condition])
    kubectl("apply -f -", book)
    code, said = jane("runbook run measures --name jane-5 -n default")
    assert (code, 'cannot get path "/metrics"' in said) == (1, True), said
    made = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "RunbookRun",
        "metadata": {"name": "measured"},
        "spec": {"runbook": "measures"},
    }
    kubectl("apply -f -", made)
    kubectl("wait runbookrun/measured --for=jsonpath={.status.phase}=Succeeded --timeout=60s")
    found = json.loads(kubectl.asked("get runbookrun measured -o json"))["status"]["readings"]["values"]
    assert (found["leads"], found["decided"]["last"]["controller"]) == (1, "deployment")
    book["spec"]["metrics"][0]["metric"] = "fairlead_plane_leeds"
    said = kubectl.refused("apply -f -", book)
    assert 'spec.metrics[0].metric: Invalid value: "fairlead_plane_leeds"' in said
