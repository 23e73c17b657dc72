"""Every ingredient that all seeds draw from: a line more makes other worlds of many.

What is drawn apart, for some of the worlds, is listed in `rules.py`, `control.py`, `places.py` and `kept.py`.

The order matters: what refers to others (budgets, services, reservations) is drawn after what it may refer to.
"""

from __future__ import annotations

from fairlead.sim.generate.contract import Ingredient
from fairlead.sim.generate.ingredients import batch, custom, limits, owners, policies, traffic, workloads

INGREDIENTS: tuple[Ingredient, ...] = (
    *policies.INGREDIENTS,
    *limits.INGREDIENTS[:1],  # classes, which templates name
    *workloads.INGREDIENTS,
    *batch.INGREDIENTS,
    *custom.INGREDIENTS,
    *limits.INGREDIENTS[1:],
    *traffic.INGREDIENTS,
    *owners.INGREDIENTS,
)
