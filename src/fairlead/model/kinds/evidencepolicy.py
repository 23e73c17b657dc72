"""EvidencePolicy (fairlead.dev/v1): what each signal of failure may decide. One object for the whole plane: `default`.

Read by `model/catalog.py`. The closed sets and bounds are in `model/policy/evidence_rows.py`. A server makes the object
when it starts and there is none; controllers take a change up from their mirror while they run. Its status says which
zones and regions are slowed or stopped, since when and why
(`reconcile/nodes/evidence_policy.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part
from fairlead.model.names import label_problems
from fairlead.model.policy import evidence_rows as rows


def _validate(policy: Json, problems: Problems) -> None:
    name = part(policy, "metadata").get("name")
    if name != rows.NAME:
        problems.invalid("metadata.name", name, f"the plane has one EvidencePolicy, named {rows.NAME!r}")
    check(part(policy, "spec"), problems)


def check(spec: Json, problems: Problems) -> None:
    """Name every row that claims more than its signal can bear, and every number out of bounds."""
    given = spec.get("rows") or []
    if len(given) > rows.ROWS_MAX:
        problems.too_many("spec.rows", len(given), rows.ROWS_MAX)
    names: set[str] = set()
    taken: set[tuple[str, str]] = set()
    for index, row in enumerate(given[: rows.ROWS_MAX]):
        at, name = f"spec.rows[{index}]", row.get("name") or ""
        for text in label_problems(name.lower()):
            problems.invalid(f"{at}.name", name, text)
        if name in names:
            problems.duplicate(f"{at}.name", name)
        names.add(name)
        if not (row.get("failureMode") or "").strip():
            problems.required(f"{at}.failureMode", "say how this signal may mislead")
        _check_acts(row, at, taken, problems)
    _check_limits("zones", rows.ZONE_LIMITS, part(spec, "zones"), problems)
    _check_limits("regions", rows.REGION_LIMITS, part(spec, "regions"), problems)


def _check_acts(row: Json, at: str, taken: set[tuple[str, str]], problems: Problems) -> None:
    signal, confidence = row.get("signal") or "", row.get("confidence") or ""
    if signal not in rows.SIGNALS:
        problems.unsupported(f"{at}.signal", signal, rows.SIGNALS)
    if not row.get("acts"):
        problems.required(f"{at}.acts", f"{rows.REPORT} is the least")
    for index, each in enumerate(row.get("acts") or []):
        where, act = f"{at}.acts[{index}]", each.get("act") or ""
        if act not in rows.ACTS:
            problems.unsupported(f"{where}.act", act, rows.ACTS)
        elif signal in rows.SIGNALS and confidence in rows.CONFIDENCES:
            trouble = rows.row_problem(signal, confidence, act)
            if trouble:
                problems.invalid(f"{where}.act", act, trouble)
            elif (signal, act) in taken and act != rows.REPORT:
                problems.duplicate(
                    f"{where}.act", act, f"another act or row of {signal} decides this already"
                )
            taken.add((signal, act))
        after = each.get("afterSeconds")
        if after is not None and not 0 <= after <= rows.ACT_SECONDS_MAX:
            problems.invalid(
                f"{where}.afterSeconds", after, f"must be between 0 and {rows.ACT_SECONDS_MAX:g}"
            )


def _check_limits(
    where: str, limits: Sequence[tuple[str, float, float, float]], given: Json, problems: Problems
) -> None:
    applied = {}
    for name, default, low, high in limits:
        value = given.get(name)
        applied[name] = default if value is None else value
        if value is not None and not low <= value <= high:
            wanted = f"must be between {low:g} and {high:g}; without it, {default:g} applies"
            problems.invalid(f"spec.{where}.{name}", value, wanted)
    for less, more in (("slowedShare", "stoppedShare"), ("slowedReleasesPerMinute", "releasesPerMinute")):
        if less in applied and applied[less] > applied[more]:
            text = f"must not be more than {more} ({applied[more]:g} here)"
            problems.invalid(f"spec.{where}.{less}", applied[less], text)


def _state(policy: Json, now: float) -> Cell:
    return part(policy, "status").get("state") or "Unknown"


def _silent(policy: Json, now: float) -> Cell:
    zones = part(policy, "status").get("zones") or ()
    return f"{sum(each.get('silent') or 0 for each in zones)}/{sum(each.get('nodes') or 0 for each in zones)}"


def _zones(policy: Json, now: float) -> Cell:
    """The zones that are not as usual, and how."""
    zones = part(policy, "status").get("zones") or ()
    braked = [f"{each['name']}={each['state']}" for each in zones if each.get("state") != "Normal"]
    return ",".join(braked) or "<none>"


def _why(policy: Json, now: float) -> Cell:
    zones = part(policy, "status").get("zones") or ()
    return "; ".join(
        f"{each['name']}: {each.get('message') or ''}" for each in zones if each.get("state") != "Normal"
    )


KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="EvidencePolicy",
    plural="evidencepolicies",
    namespaced=False,
    schema="EvidencePolicy",
    subresources=("status",),
    columns=(
        Column("State", _state, description="The worst of the zones: Normal, Slowed or Stopped."),
        Column("Silent", _silent, description="Silent nodes, of those whose heartbeats are known."),
        Column("Braked", _zones, description="Zones that are slowed or stopped."),
        AGE,
        Column("Why", _why, description="Why they are.", priority=1),
    ),
    validate=_validate,
)
