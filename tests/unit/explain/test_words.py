"""Amounts are spelt as Kubernetes spells them, and rounding never makes too little look like enough."""

from __future__ import annotations

import pytest

from fairlead.explain.words import unit_for

KI, MI, GI = 2**10, 2**20, 2**30


@pytest.mark.parametrize(
    ("resource", "needed", "free", "told"),
    [
        ("cpu", 2000, 1000, ("2", "1")),
        ("cpu", 500, 4000, ("500m", "4")),
        ("cpu", 4000, 1500, ("4", "1500m")),
        ("memory", 2 * GI, GI, ("2Gi", "1Gi")),
        ("memory", 2 * GI, 1500 * MI, ("2Gi", "1500Mi")),
        ("memory", 100 * MI, 100 * MI - KI, ("100Mi", "99Mi")),
        ("memory", 1, 0, ("1Mi", "0")),
        ("ephemeral-storage", 10**9, 2 * GI, ("954Mi", "2Gi")),
        ("hugepages-2Mi", 4 * MI, 2 * MI, ("4Mi", "2Mi")),
        ("pods", 1, 0, ("1", "0")),
        ("example.com/gpu", 5000, 4999, ("5000", "4999")),
    ],
)
def test_amounts_are_spelt_as_they_would_be_in_a_manifest(
    resource: str, needed: int, free: int, told: tuple[str, str]
) -> None:
    unit = unit_for(resource)
    assert (unit.at_least(needed), unit.at_most(free)) == told
