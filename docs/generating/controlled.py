"""What controllers go by: overrides, settings, evidence, repair, who can change whose inputs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import msgspec

from fairlead.control.placing import Placer
from fairlead.control.roster import default_deciders
from fairlead.decision.footprint import LIFE
from fairlead.explain.coupling import declared as declared_coupling
from fairlead.explain.coupling import drawing
from fairlead.explain.coupling.contract import (
    LABEL_MUTATION,
    OVERLAP,
    PERSON,
    SHARED_CAPACITY,
    SHARED_FIELD,
    Coupling,
)
from fairlead.ledger import repair
from fairlead.model.fields import MapOf
from fairlead.model.files import load_tables
from fairlead.model.policy import evidence_rows, plane_knobs
from fairlead.model.policy.override_risks import CONTROLS
from generating.bounds import shown
from generating.tables import code, table


def controls() -> str:
    rows = [
        (
            each.name,
            code(each.fields),
            each.changes,
            each.risk,
            each.left or "nothing stays",
            f"`{each.command}`",
        )
        for each in CONTROLS
    ]
    return table(
        ("control", "fields", "what it changes", "risk", "what its end does not undo", "in one line"), rows
    )


def plane_settings() -> str:
    """Every knob, section by section."""
    tables = load_tables()
    rows: list[tuple[str, ...]] = []
    for title, section in plane_knobs.SECTIONS.items():
        kind = tables["PlaneSettingsSpec"].fields[title].type
        described = tables[(kind.value if isinstance(kind, MapOf) else kind).name].fields  # type: ignore[union-attr]
        place = f"{title}.NAME" if section.names else title
        for knob in section.knobs:
            bounds = f"{knob.low:,g} to {knob.high:,g}"
            what = described[knob.name].description
            rows.append((f"`{place}.{knob.name}`", what, f"{knob.default:,}", bounds))
    names = (
        f"NAME is `default` or a name: in `queues` and `controllers` {code(plane_knobs.CONTROLLERS)}; in `retries` "
        f"{code(plane_knobs.EFFECTS)}; in `stages` {code(plane_knobs.TIMED_STAGES)}."
    )
    return (
        table(("field of `spec`", "what", "without it", "bounds"), rows) + f"\n{textwrap.fill(names, 118)}\n"
    )


def evidence_authority() -> str:
    rows = ((f"`{confidence}`", code(acts)) for confidence, acts in evidence_rows.AUTHORITY.items())
    return table(("confidence", "may decide"), rows)


def evidence_table() -> str:
    rows: list[tuple[str, ...]] = []
    for row in evidence_rows.default_spec()["rows"]:
        acts = ", ".join(f"`{each['act']}` {each['afterSeconds']} s" for each in row["acts"])
        rows.append((f"`{row['name']}`", f"`{row['signal']}`", row["confidence"], acts, row["failureMode"]))
    return table(("row", "signal", "confidence", "may decide, after", "how it may mislead"), rows)


def repair_clear() -> str:
    rows = (
        (
            f"`{rule.name}`",
            rule.finds,
            rule.act,
            shown(rule.after_seconds, "seconds") if rule.after_seconds else "at once",
        )
        for rule in repair.CLEAR
    )
    return table(("rule", "finds", "does", "after"), rows)


def repair_ambiguous() -> str:
    rows = ((f"`{rule.name}`", rule.finds) for rule in repair.AMBIGUOUS)
    return table(("rule", "finds"), rows)


def evidence_zones() -> str:
    return _evidence_limits("zones", "EvidenceZoneLimits", evidence_rows.ZONE_LIMITS)


def evidence_regions() -> str:
    return _evidence_limits("regions", "EvidenceRegionLimits", evidence_rows.REGION_LIMITS)


def _evidence_limits(where: str, type_: str, limits: Iterable[tuple[str, float, float, float]]) -> str:
    fields = load_tables()[type_].fields
    rows = (
        (f"`{name}`", fields[name].description, f"{default:g}", f"{low:,g} to {high:,g}")
        for name, default, low, high in limits
    )
    return table((f"field of `spec.{where}`", "what", "without it", "bounds"), rows)


def _coupled() -> list[Coupling]:
    """Of every controller, as the sources have it."""
    declared = {each.name: tuple(read.name for read in each.reads) for each in default_deciders()}
    declared[Placer.name] = tuple(each.name for each in Placer.reads)
    reads = declared_coupling.readers(declared)
    return [each for name in sorted(reads) for each in declared_coupling.couplings(name, reads[name])]


def coupling() -> str:
    """Who only makes or deletes an object is left out: that may be anybody's."""
    found: dict[str, dict[str, set[str]]] = {}
    for each in _coupled():
        if each.sort != PERSON and not set(each.fields) <= LIFE:
            found.setdefault(each.reader, {}).setdefault(each.form, set()).add(each.writer)
    heads = (SHARED_FIELD, SHARED_CAPACITY, LABEL_MUTATION, OVERLAP)
    return table(
        ("decides", *heads),
        (
            (f"`{name}`", *(code(sorted(forms.get(head, ()))) for head in heads))
            for name, forms in found.items()
        ),
    )


def coupling_drawing() -> str:
    drawn = [each for each in _coupled() if not set(each.fields) <= LIFE]
    return drawing.svg(msgspec.to_builtins(drawn), "Who can change whose inputs: every controller of a plane")
