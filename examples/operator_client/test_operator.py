"""The operator beside this against an API that is unkind: as many lamps as were asked for, whatever answers were lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from kubernetes import client, config
from lighthouse_operator import LABEL, HastyOperator, Operator

from fairlead.testing import plane

CRD = Path(__file__).with_name("lighthouses.yaml")
WANTED = {"north": 2, "south": 3}


def lamps_after(operator: type[Operator], seed: int) -> Counter[str]:
    """How many lamps each Lighthouse has when the API has been kind again for a while."""
    with (
        plane(controllers=False, crds=[CRD]) as p,
        config.new_client_from_config_dict(p.client_config()) as api,
    ):
        for name, lamps in WANTED.items():
            p.create(
                {
                    "apiVersion": "example.com/v1",
                    "kind": "Lighthouse",
                    "metadata": {"name": name},
                    "spec": {"lamps": lamps},
                }
            )
        working = operator(api)
        with p.unkind(seed, lost_replies=0.3, lost_requests=0.1):
            for _ in range(10):
                working.turn()
        p.expire_history()
        for _ in range(8):
            working.turn()
        found = client.CoreV1Api(api).list_namespaced_config_map("default", label_selector=LABEL).items
        return Counter(each.metadata.labels[LABEL] for each in found)


@pytest.mark.parametrize("seed", range(4))
def test_there_are_as_many_lamps_as_were_asked_for(seed: int) -> None:
    assert lamps_after(Operator, seed) == WANTED


def test_the_one_that_believes_its_cache_is_found() -> None:
    assert any(lamps_after(HastyOperator, seed) != WANTED for seed in range(4))
