"""What an agent says of its machine are amounts that the API takes, and a clock that only goes forward."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.core import quantity
from fairlead.runtime.node import machine_facts
from fairlead.runtime.server.local_agents import name_nodes, share_machine
from fairlead.runtime.server.settings import ServeSettings


def test_nodes_of_one_machine_offer_all_its_processors_and_their_part_of_its_memory() -> None:
    assert quantity.milli(machine_facts.cpus()) > 0
    assert quantity.value(machine_facts.memory()) > 0
    for count in (1, 3, 7):
        cpu, memory = share_machine(count)
        assert cpu == machine_facts.cpus()
        assert 0 < quantity.value(memory) * count <= quantity.value(machine_facts.memory())


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max 100000", "whole"), ("50000 100000", "500m"), ("", "whole"), ("x y", "whole")],
)
def test_a_limit_of_its_group_is_what_the_machine_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, expected: str
) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(limit)
    monkeypatch.setattr(machine_facts, "_CPU_MAX", tmp_path / "none")
    whole = machine_facts.cpus()
    monkeypatch.setattr(machine_facts, "_CPU_MAX", file)
    assert machine_facts.cpus() == (whole if expected == "whole" else expected)


def test_every_fact_is_a_text() -> None:
    assert all(isinstance(value, str) for value in machine_facts.node_info().values())


def test_local_nodes_are_dealt_out_to_zones_in_turn(tmp_path: Path) -> None:
    nodes = name_nodes(ServeSettings(tmp_path, "", 0, False, nodes=3, zones=("a", "b")))
    assert [(node.name, node.zone) for node in nodes] == [
        ("local-1", "a"),
        ("local-2", "b"),
        ("local-3", "a"),
    ]
    assert name_nodes(ServeSettings(tmp_path, "", 0, False, nodes=1))[0].zone == ""
