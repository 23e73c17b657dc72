"""Quotas: new objects are charged, a quota's use is counted by the server whoever writes its status, and a quota that
is new or changed is known to everybody at once. The work is done in `api/charging.py`.
"""

from __future__ import annotations

import msgspec

from fairlead.api import borrowing, charging
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.ledger import quota as ledger
from fairlead.model.views import Pod, ResourceQuotaSpec

_CHANGES = frozenset({"update", "patch"})


def _charge(attempt: Attempt) -> None:
    if attempt.kind.namespaced and attempt.read.list(charging.RESOURCES, attempt.key.namespace):
        charging.charge_resources(attempt)


def _charge_placed(attempt: Attempt) -> None:
    """A pod that is created with its node is bound by that."""
    assert attempt.new is not None
    node = attempt.new["spec"].get("nodeName")
    if node and attempt.read.list(charging.PLACEMENT, attempt.key.namespace):
        charging.charge_placement(attempt, msgspec.convert(attempt.new, Pod), node)


def _announce(attempt: Attempt) -> None:
    assert attempt.new is not None
    if attempt.old is None or attempt.old.get("spec") != attempt.new.get("spec"):
        charging.touch_namespace(attempt)


def _count_placed(attempt: Attempt) -> None:
    quota = attempt.new
    if attempt.subresource == "status" and quota is not None:
        used = borrowing.placed_usage_of(attempt.read, quota, attempt.key.namespace)
        quota["status"] = ledger.with_usage(quota, used, attempt.context.now)["status"]


def _count(attempt: Attempt) -> None:
    quota = attempt.new
    if attempt.subresource == "status" and quota is not None:
        spec = msgspec.convert(quota.get("spec") or {}, ResourceQuotaSpec)
        used = charging.resource_usage_of(attempt.read, spec, attempt.key.namespace)
        # A limit that somebody writes here is shown until the controller puts spec.hard back; it limits nothing.
        shown = (quota.get("status") or {}).get("hard") or spec.hard
        quota["status"] = {"hard": shown, "used": ledger.add_usage(spec.hard, used, {})}


_QUOTAS = frozenset({charging.RESOURCES, charging.PLACEMENT})
STEPS = (
    AdmissionStep(
        "QuotaChange",
        _announce,
        _CHANGES | {"create"},
        _QUOTAS,
        does="a new or changed quota is known to every write that is under way in its namespace",
    ),
    AdmissionStep(
        "PlacementQuotaCount",
        _count_placed,
        _CHANGES,
        frozenset({charging.PLACEMENT}),
        subresources=True,
        does="`used` is counted by the server",
    ),
    AdmissionStep(
        "ResourceQuotaCount",
        _count,
        _CHANGES,
        frozenset({charging.RESOURCES}),
        subresources=True,
        does="`used` is counted by the server",
    ),
    AdmissionStep(
        "PlacementQuota",
        _charge_placed,
        frozenset({"create"}),
        frozenset({"pods"}),
        does="charges the placement quotas of a pod that is created with its node",
    ),
    AdmissionStep(
        "ResourceQuota",
        _charge,
        frozenset({"create"}),
        does="charges the namespace's quotas, or refuses with 403",
    ),
)
