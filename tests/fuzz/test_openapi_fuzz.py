"""Requests made up from our own OpenAPI documents, sent to a running server: whatever comes, it answers in its own words.

No answer is a failure of the server, every refusal is a Status, nobody else's objects change, memory is bounded, and
the server's log has no traceback. Within a budget of seconds; `make soak` gives it a longer one.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from fairlead.api.openapi.documents import groups
from fairlead.model.catalog import CATALOG
from tests.conftest import SOAK
from tests.e2e.raw import assert_no_traceback
from tests.fuzz.clients import Plane, cases, operations, validate
from tests.fuzz.tides import GROUP_PATH

SECONDS = float(os.environ.get("FAIRLEAD_FUZZ_SECONDS") or (1800.0 if SOAK else 12.0))
CASES = 10 if SOAK else 4
MEMORY_MAX = 400 * 1024 * 1024
# The same where a change is judged, as Hypothesis does it there; others each time where somebody looks for faults.
SEED = int(os.environ.get("FAIRLEAD_FUZZ_SEED", "1" if os.environ.get("CI") == "true" else "0"))
SEED = SEED or random.randrange(2**32)
GROUPS = groups(CATALOG) | {GROUP_PATH: ()}
_WEIGHT = sum(len(kinds) + 1 for kinds in GROUPS.values())


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    started = Plane(tmp_path_factory.mktemp("fuzz"))
    yield started
    started.session.close()
    assert started.server.stop() == 0
    assert_no_traceback(started.server)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("path", GROUPS)
def test_whatever_a_document_allows_or_forbids_is_answered(plane: Plane, path: str) -> None:
    chance = random.Random(f"{SEED}/{path}")
    seen: Counter[int] = Counter()
    deadline = time.monotonic() + SECONDS * (len(GROUPS[path]) + 1) / _WEIGHT
    rounds = 0
    while time.monotonic() < deadline and (SOAK or rounds == 0):
        rounds += 1
        plane.fill()
        made = operations(plane.document(path), chance)
        chance.shuffle(made)
        for operation in made:
            for case in cases(operation, CASES, chance):
                seen[_answered(plane, case)] += 1
            if time.monotonic() > deadline:
                break
    print(path, dict(seen))
    assert sum(seen.values()) > 0, "nothing was sent"
    assert plane.lost() == [], f"with FAIRLEAD_FUZZ_SEED={SEED}"
    assert plane.resident() < MEMORY_MAX


def test_the_documents_are_valid_by_the_public_schemas(plane: Plane) -> None:
    index = plane.session.get(f"{plane.url}/openapi/v3", timeout=120).json()["paths"]
    assert len(index) > 10
    for path in index:
        validate(plane.document(path))
    validate(plane.session.get(f"{plane.url}/openapi/v2", timeout=120).json())
    broken = plane.document("api/v1")
    broken["paths"]["/api/v1/pods"]["get"]["responses"] = {}
    with pytest.raises(ValueError, match="minProperties"):
        validate(broken)


def _answered(plane: Plane, case: Any) -> int:
    try:
        answer = case.call(
            base_url=plane.url, session=plane.session, timeout=120, verify=plane.session.verify
        )
    except (requests.exceptions.InvalidHeader, UnicodeError, ValueError):
        return 0  # made up, but nothing that can be sent
    told = f"with FAIRLEAD_FUZZ_SEED={SEED}: {case.as_curl_command(base_url=plane.url)} -> {answer.status_code} {answer.text[:2000]}"
    status = int(answer.status_code)
    if status >= 400 and case.method != "HEAD":
        body = json.loads(answer.content)
        assert (body["kind"], body["status"], body["code"]) == ("Status", "Failure", status), told
        assert body["message"], told
        if status == 504:  # a revision that has not happened
            assert body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge", told
        else:
            assert status < 500, told
    return status
