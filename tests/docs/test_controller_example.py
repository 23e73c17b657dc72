"""The controller of the guide: it passes the test beside it, and works in a plane on the real API."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.control.roster import default_deciders
from fairlead.core.times import timestamp
from fairlead.decision.decider import Decider
from tests.docs.pages import ROOT
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

GUIDE = ROOT / "docs/guides/adding-a-controller.md"
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def example() -> dict[str, Any]:
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2, "the controller, and its test"
    names: dict[str, Any] = {"__name__": "guide"}
    for block in blocks:
        exec(compile(block, GUIDE.name, "exec"), names)
    return names


def test_it_passes_its_own_tests(example: dict[str, Any]) -> None:
    tests: list[Callable[[], None]] = [each for name, each in example.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        test()


def test_it_works_beside_the_others(example: dict[str, Any]) -> None:
    api = InProcess()
    driver = Driver(api, deciders=(*default_deciders(), example["expiry_decider"]()))
    ends_at = timestamp(api.now + 60)
    for name, notes in (("cache", {example["ENDS_AT"]: ends_at}), ("kept", {})):
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "annotations": notes},
        }
        assert api.post(MAPS, body)[0] == 201
    driver.run(55)
    assert api.get(f"{MAPS}/cache")[0] == 200
    driver.run(10)
    assert api.get(f"{MAPS}/cache")[0] == 404
    assert api.get(f"{MAPS}/kept")[0] == 200


def test_the_guide_names_every_part_of_the_record() -> None:
    table = set(re.findall(r"^\| ((?:`\w+[^|]*)) \|", GUIDE.read_text(), re.MULTILINE))
    named = {name for row in table for name in re.findall(r"`(\w+)", row)}
    assert set(Decider.__dataclass_fields__) == named
