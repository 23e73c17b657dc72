"""Node: a machine that runs pods. Its agent registers it with a status and keeps that status fresh.

Heartbeats (writes that move only the times in the conditions) are recognised here, so that audit counts them
instead of recording them. Whether a node is alive is judged by the node controller.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.addresses import NOT_A_NETWORK, is_network
from fairlead.model.kinds.amounts import spell_amounts, validate_amount
from fairlead.model.kinds.node_columns import COLUMNS
from fairlead.model.metadata import metadata_warnings
from fairlead.model.names import label_key_problems, label_value_problems

_STAMPS = ("resourceVersion", "managedFields", "generation")


def _defaults(node: Json) -> None:
    _default_networks(node.setdefault("spec", {}))
    status = node.get("status")
    if not status:
        return
    spell_amounts(status.get("capacity"))
    spell_amounts(status.get("allocatable"))
    if status.get("allocatable") is None and status.get("capacity") is not None:
        status["allocatable"] = dict(status["capacity"])


def _default_networks(spec: Json) -> None:
    """The first of `podCIDRs` and `podCIDR` are one thing under two names."""
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs") and not spec.get("podCIDR"):
        spec["podCIDR"] = spec["podCIDRs"][0]


def _validate(node: Json, problems: Problems) -> None:
    spec: Json = node.get("spec") or {}
    _validate_taints(spec.get("taints") or [], problems)
    _validate_networks(spec, problems)
    _validate_amounts(node, problems)


def _validate_networks(spec: Json, problems: Problems) -> None:
    networks = spec.get("podCIDRs") or []
    if networks and spec.get("podCIDR") and networks[0] != spec["podCIDR"]:
        problems.invalid("spec.podCIDRs", networks, "the first entry must match `podCIDR`")
    for index, network in enumerate(networks):
        if not is_network(network):
            problems.invalid(f"spec.podCIDRs[{index}]", network, NOT_A_NETWORK)
    families = [":" in network for network in networks]
    if len(families) > 1 and (len(families) > 2 or families[0] == families[1]):
        text = "may specify no more than one CIDR for each IP family"
        problems.invalid("spec.podCIDRs", networks, text)


def _validate_amounts(node: Json, problems: Problems) -> None:
    status: Json = node.get("status") or {}
    for field in ("capacity", "allocatable"):
        for name, quantity in (status.get(field) or {}).items():
            validate_amount(quantity, f"status.{field}[{name}]", problems)


def _validate_taints(taints: list[Json], problems: Problems) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at = f"spec.taints[{index}]"
        key, value, effect = taint.get("key") or "", taint.get("value") or "", taint.get("effect") or ""
        for text in label_key_problems(key):
            problems.invalid(f"{at}.key", key, text)
        for text in label_value_problems(value):
            problems.invalid(f"{at}.value", value, text)
        if (key, effect) in seen:
            text = "taints must be unique by key and effect pair"
            problems.duplicate(at, taint, text)
        seen.add((key, effect))


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    after: Json = new.get("spec") or {}
    before: Json = old.get("spec") or {}
    for field, name in (("podCIDR", "podCIDR"), ("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if before.get(field) and after.get(field) != before[field]:
            text = f'node updates may not change {name} except from "" to valid'
            problems.forbidden(f"spec.{field}", text)


def _validate_status(new: Json, old: Json, problems: Problems) -> None:
    _validate_amounts(new, problems)
    seen: set[tuple[str, str]] = set()
    for index, entry in enumerate((new.get("status") or {}).get("addresses") or ()):
        address = (entry.get("type") or "", entry.get("address") or "")
        if address in seen:
            problems.duplicate(f"status.addresses[{index}]", entry)
        seen.add(address)


def _heartbeat(new: Json, old: Json) -> bool:
    """Nothing changed but when the conditions were last confirmed."""
    after, before = new.get("status") or {}, old.get("status") or {}
    if new.get("spec") != old.get("spec") or _lasting(new) != _lasting(old):
        return False
    if after.keys() != before.keys():
        return False
    for field, value in after.items():
        if field != "conditions" and value != before[field]:
            return False
    return _conditions(after) == _conditions(before)


def _lasting(node: Json) -> Json:
    return {key: value for key, value in (node.get("metadata") or {}).items() if key not in _STAMPS}


def _conditions(status: Json) -> list[Json]:
    return [
        {key: value for key, value in condition.items() if key != "lastHeartbeatTime"}
        for condition in status.get("conditions") or ()
    ]


def _unschedulable(node: Json) -> str:
    return "true" if (node.get("spec") or {}).get("unschedulable") else "false"


KIND = Kind(
    group="",
    version="v1",
    kind="Node",
    plural="nodes",
    namespaced=False,
    schema="Node",
    short_names=("no",),
    subresources=("status", "metrics"),
    columns=COLUMNS,
    generation=False,
    status_on_create=True,
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    selectable={"spec.unschedulable": _unschedulable},
    heartbeat=_heartbeat,
    warnings=metadata_warnings,
)
