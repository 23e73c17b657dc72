"""Events, conditions and records call one thing by one word: every Event that the sources tell is in the registry."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fairlead
from fairlead.core import codec
from fairlead.model.event_words import EVENT_WORDS
from fairlead.store.contract import Entry
from tests.unit.explain.timeline.world import QUOTAS, World

SOURCES = Path(fairlead.__file__).parent
# Words that follow from an object, and places that hand on a word of somebody else.
FOLLOWS = {
    ("monitoring.py", "reason"),
    ("notes.py", "reason"),
    ("events.py", "note.reason"),
    ("rollout_outcome.py", "reason"),
    ("cronjob.py", "reason"),
    ("status.py", "each.reason"),
    ("status.py", "reason"),
    ("evidence_policy.py", "f'Zone{zone.state}'"),
    ("marks.py", "reason"),
    ("reporting.py", "f'Run{status.phase}'"),
}


def told_by_the_sources() -> Iterator[tuple[str, str, str]]:
    """File, word ("" where it is not fixed) and expression of every Event that is made."""
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text()
        if "EventNote(" not in text:
            continue
        module = ".".join(("fairlead", *path.relative_to(SOURCES).with_suffix("").parts))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "EventNote":
                named = [each.value for each in node.keywords if each.arg == "reason"]
                reason = named[0] if named else node.args[2]
                for each in (reason.body, reason.orelse) if isinstance(reason, ast.IfExp) else (reason,):
                    yield path.name, fixed(each, module), ast.unparse(each)


def fixed(reason: ast.expr, module: str) -> str:
    if isinstance(reason, ast.Constant):
        return str(reason.value)
    found = vars(importlib.import_module(module)).get(reason.id, "") if isinstance(reason, ast.Name) else ""
    return found if isinstance(found, str) else ""


def says_the_same(event: str, word: str) -> bool:
    """Whether a condition's or a record's word tells what this Event tells."""
    found = next((each for each in EVENT_WORDS if each.event == event), None)
    if found is None or event == word:
        return event == word
    return any(word.startswith(each[:-1]) if each.endswith("*") else word == each for each in found.same)


def test_every_event_is_in_the_registry() -> None:
    told = list(told_by_the_sources())
    words = {each.event for each in EVENT_WORDS}
    assert len(words) == len(EVENT_WORDS)
    assert {word for _, word, _ in told if word} <= words
    assert {(file, text) for file, word, text in told if not word} == FOLLOWS


def blocked() -> World:
    """Pods wait for a node, and others are not made."""
    world = World()
    world.limit_pods(2)
    world.run(2)
    world.deploy(3)
    world.run(20)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    assert world.api.post(QUOTAS, {**quota, "spec": {"hard": {"pods": "4"}}})[0] == 201
    world.run(5)
    world.scale(8)
    world.run(30)
    return world


def decoded(entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = codec.decode(entry.data)
    return found


def test_what_an_event_warns_of_has_the_same_word_in_a_condition_and_in_the_record() -> None:
    world = blocked()
    conditions: dict[str, set[str]] = {}
    for resource in ("pods", "replicasets.apps", "deployments.apps"):
        for entry in world.api.store.list(resource):
            told = (decoded(entry).get("status") or {}).get("conditions") or ()
            conditions[entry.uid] = {each.get("reason", "") for each in told}
    warned: set[str] = set()
    for entry in world.api.store.list("events"):
        event = decoded(entry)
        if event["type"] != "Warning":
            continue
        reason, decision = event["reason"], event["metadata"]["annotations"]["fairlead.dev/decision"]
        records = [each for each in world.driver.records if decision in (each.get("id"), each.get("of"))]
        recorded = {word for each in records for word in (each.get("reason", ""), each["verdict"])}
        assert any(says_the_same(reason, each) for each in recorded), (reason, recorded)
        assert any(says_the_same(reason, each) for each in conditions[event["involvedObject"]["uid"]]), reason
        warned.add(reason)
    assert warned == {"FailedScheduling", "FailedCreate"}
