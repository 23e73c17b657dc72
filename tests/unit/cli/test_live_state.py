"""The state of a plane is read at one revision, says what could not be read, and survives a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.cli import live_state
from fairlead.cli.changes import change_of
from fairlead.cli.client import ApiClient
from fairlead.core import codec
from fairlead.core.errors import ApiError, NotFound, UsageError
from fairlead.model.key import Key

CORE = [("configmaps", True), ("namespaces", False), ("nodes", False), ("pods", True), ("secrets", True)]


class Canned(ApiClient):
    """A server of a few kinds; `compacted` answers 410 to so many questions about the past."""

    def __init__(self, compacted: int = 0, forbidden: tuple[str, ...] = ()) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._compacted, self._forbidden = compacted, forbidden

    def get(self, path: str, query: Any = None, accept: str = "") -> dict[str, Any]:
        if path == "/apis":
            return {"groups": []}
        found = [
            {"name": name, "kind": name.title()[:-1], "namespaced": inside, "verbs": ["list"]}
            for name, inside in CORE
        ]
        return {"resources": found}

    def raw(self, path: str, query: Any = None) -> tuple[int, bytes]:
        plural = path.rpartition("/")[2]
        self.asked.append((plural, dict(query or {})))
        if plural in self._forbidden:
            return 403, b"{}"
        if query and self._compacted:
            self._compacted -= 1
            return 410, b"{}"
        meta = {"name": f"{plural}-1", "uid": f"u-{plural}", "labels": {"topology.kubernetes.io/zone": "a"}}
        if dict(CORE)[plural]:
            meta["namespace"] = "default"
        items = [{"apiVersion": "v1", "kind": plural.title()[:-1], "metadata": meta}]
        return 200, json.dumps({"metadata": {"resourceVersion": "77"}, "items": items}).encode()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.cli.live_state.time.sleep", lambda seconds: None)


def test_every_kind_is_read_as_it_was_at_the_revision_of_the_first_answer() -> None:
    client = Canned()
    read = live_state.read_live(client)
    assert read.state.revision == 77
    assert [plural for plural, _ in client.asked] == [
        "configmaps",
        "namespaces",
        "nodes",
        "pods",
    ]  # no Secrets
    exact = {"resourceVersion": "77", "resourceVersionMatch": "Exact"}
    assert [query for _, query in client.asked] == [{}, exact, exact, exact]
    assert Key("pods", "default", "pods-1") in {key for key, _ in read.state.objects}


def test_a_revision_that_is_compacted_meanwhile_is_given_up_for_a_newer_one() -> None:
    assert live_state.read_live(Canned(compacted=2)).state.revision == 77
    with pytest.raises(ApiError, match="try again"):
        live_state.read_live(Canned(compacted=9))


def test_what_may_not_be_listed_is_named() -> None:
    assert live_state.read_live(Canned(forbidden=("nodes",))).unseen == ("nodes",)


def test_a_saved_state_is_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    state = live_state.read_live(Canned()).state
    live_state.save(state, tmp_path / "state.jsonl")
    assert live_state.load(tmp_path / "state.jsonl") == state


@pytest.mark.parametrize(
    "content", ["", "{}\n", '{"form":"fairlead-state/9","revision":1,"now":1}\n', "no JSON\n"]
)
def test_a_file_that_is_none_is_refused_with_what_to_do(tmp_path: Path, content: str) -> None:
    (tmp_path / "other").write_text(content)
    with pytest.raises(UsageError, match="fairlead sim from --save"):
        live_state.load(tmp_path / "other")


def test_a_drain_of_a_zone_names_its_nodes_and_one_that_is_not_there_is_refused() -> None:
    client = Canned()
    state = live_state.read_live(client).state
    change = change_of(client, state, (), (), ("zone/a",), "default")
    assert change.drains == ("nodes-1",)
    wrongs: tuple[tuple[str, type[Exception], str], ...] = (
        ("zone/b", UsageError, "no node has the label"),
        ("node/x", NotFound, "no such node"),
        ("rack/a", UsageError, "use node/NAME"),
    )
    for wrong, kind, why in wrongs:
        with pytest.raises(kind, match=why):
            change_of(client, state, (), (), (wrong,), "default")


def test_a_manifest_of_what_exists_is_an_edit_and_of_what_does_not_a_creation(tmp_path: Path) -> None:
    client = Canned()
    state = live_state.read_live(client).state
    file = tmp_path / "edit.yaml"
    for name, verb in (("pods-1", "patch"), ("other", "create")):
        file.write_text(
            f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{a: b}}}}\nstatus: {{}}\n"
        )
        (request,) = change_of(client, state, (str(file),), (), (), "default").asks
        assert (request.verb, request.namespace) == (verb, "default")
        assert codec.decode(request.body)["metadata"]["namespace"] == "default"
    with pytest.raises(UsageError, match="nothing to look ahead for"):
        change_of(client, state, (), (), (), "default")
