"""A definition with objects, deleted while everything goes wrong: in the end neither is there, and all else is."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fairlead.control.roster import serving_deciders
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.sim.chance import Chance
from fairlead.sim.faults import CALM, Faults
from fairlead.sim.parts import default_parts
from fairlead.sim.scenario import Scenario, create, delete, patch
from fairlead.sim.world import Run, World
from fairlead.sim.worlds import fraud_batch
from tests.elsewhere import elsewhere

SEEDS = range(20)
GROUP = "example.com"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
RESOURCE = f"beacons.{GROUP}"
_KINDS = Catalog(
    kind for kind in CATALOG if kind.resource in ("namespaces", "configmaps", "secrets", "pods", DEFINITIONS)
)
SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _definition(plural: str, kind: str) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    names = {"plural": plural, "kind": kind}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _scenario() -> Scenario:
    held = {"name": "held", "finalizers": ["example.com/wait"]}
    crds = ("apiextensions.k8s.io/v1", "customresourcedefinitions")
    return Scenario(
        name="custom-resources",
        steps=(
            create(1.0, *crds, _definition("beacons", "Beacon"), ""),
            create(1.0, *crds, _definition("others", "Other"), ""),
            create(2.0, "v1", "configmaps", {"kind": "ConfigMap", "metadata": {"name": "stays"}}),
            create(2.0, f"{GROUP}/v1", "others", {"kind": "Other", "metadata": {"name": "stays"}}),
            *(
                create(
                    2.0 + index,
                    f"{GROUP}/v1",
                    "beacons",
                    {"kind": "Beacon", "metadata": {"name": f"b{index}"}},
                )
                for index in range(8)
            ),
            create(3.0, f"{GROUP}/v1", "beacons", {"kind": "Beacon", "metadata": held}),
            delete(40.0, *crds, RESOURCE, ""),
            # It may be gone by then: people do not insist.
            replace(
                patch(70.0, f"{GROUP}/v1", "beacons", "held", {"metadata": {"finalizers": None}}), tries=20
            ),
        ),
        hollow_prefix="hollow-",
        planes=2,
        faults_until_seconds=120.0,
        seconds_min=180.0,
        seconds_max=900.0,
        quiet_seconds=60.0,
    )


def _run(seed: int, faults: Faults) -> Run:
    parts: Any = default_parts()
    parts["deciders"] = lambda: serving_deciders(_KINDS)
    parts["scheduler"] = None
    return World(_scenario(), Chance(seed), faults, parts).run()


def digests() -> list[str]:
    return [_lived(seed).digest for seed in SEEDS]


@cache
def _lived(seed: int) -> Run:
    return _run(seed, fraud_batch.FAULTS if seed else CALM)


def test_each_seed_is_one_run_in_every_process() -> None:
    assert digests() == elsewhere(digests)


def _names(run: Run, resource: str) -> set[str]:
    return {key.name for key in run.objects.of(resource)}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_deleted_definition_leaves_nothing_behind_and_takes_nothing_else_along(seed: int) -> None:
    run = _lived(seed)
    assert run.violation is None, run.violation
    assert _names(run, RESOURCE) == set()
    assert _names(run, DEFINITIONS) == {f"others.{GROUP}"}
    assert _names(run, f"others.{GROUP}") == _names(run, "configmaps") == {"stays"}


def test_what_a_plane_is_asked_to_follow_ends_with_the_definition() -> None:
    """Nothing of a kind that is gone is kept: not its mirror, not its watch."""
    world = World(
        _scenario(),
        Chance(0),
        CALM,
        {**default_parts(), "deciders": lambda: serving_deciders(_KINDS), "scheduler": None},  # type: ignore[dict-item]
    )
    assert world.run().violation is None
    for process in world.planes:
        assert f"others.{GROUP}" in process.plane.mirrors
        assert RESOURCE not in process.plane.mirrors
        assert all(each.resource != RESOURCE for each in process.link._follows)
