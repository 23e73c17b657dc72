"""What Go clients do when newer features are switched on: watch-list instead of list, CBOR before JSON.

kubectl wait runs client-go's reflector, the machinery of every informer; its environment switches features on.
"""

from __future__ import annotations

import subprocess

from tests.clients.kubectl import Operator

SHARED = True  # the server, with other modules

WATCH_LIST = {"KUBE_FEATURE_WatchListClient": "true"}
CBOR = {"KUBE_FEATURE_ClientsAllowCBOR": "true", "KUBE_FEATURE_ClientsPreferCBOR": "true"}


def _waited(team: Operator, features: dict[str, str]) -> str:
    """What kubectl said of its requests while it waited for a change that came after it began to."""
    team("create configmap tide --from-literal=water=low")
    change = 'patch configmap tide --type=merge -p {"data":{"water":"high"}}'.replace('"', '\\"')
    wait = "wait configmap/tide --for=jsonpath={.data.water}=high --timeout=100s -v=8"
    with team.started(wait, None, **features) as waiting:
        said = _up_to(waiting, "watch=true")
        team(change)
        assert waiting.stdout is not None
        said += waiting.stdout.read()
        assert waiting.wait() == 0, said
    assert "condition met" in said
    return said


def _up_to(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    said = ""
    while words not in said:
        line = process.stdout.readline()
        assert line, f"it ended and never said {words!r}: {said}"
        said += line
    return said


def test_an_informer_that_begins_with_a_watch_gets_what_there_is_and_then_the_changes(team: Operator) -> None:
    said = _waited(team, WATCH_LIST)
    assert "sendInitialEvents=true" in said
    assert "limit=500" not in said, "it fell back to a list"


def test_an_informer_that_would_like_cbor_is_given_json(team: Operator) -> None:
    said = _waited(team, CBOR)
    assert "application/cbor" in said
    answers = [
        line.partition("Response Status: ")[2] for line in said.splitlines() if "Response Status: " in line
    ]
    assert answers
    assert all(answer.startswith("200 ") for answer in answers), answers


def test_without_features_it_lists_and_watches(team: Operator) -> None:
    said = _waited(team, {})
    assert "resourceVersion=0" in said
    assert "watch=true" in said


def test_objects_are_written_whatever_media_type_is_preferred(team: Operator) -> None:
    done = team.run("create configmap c --from-literal=a=b", **CBOR)
    assert (done.code, done.out) == (0, "configmap/c created\n"), done.err
    done = team.run("delete configmap c", **CBOR, **WATCH_LIST)
    assert (done.code, done.out) == (0, 'configmap "c" deleted\n'), done.err
