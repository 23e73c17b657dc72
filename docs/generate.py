"""Writes the tables of the documentation that are facts of the code: kinds, errors, limits, admission.

    python docs/generate.py           rewrite them
    python docs/generate.py --check   exit 1 if one of them is not current

A table stands between `<!-- generated: NAME -->` and `<!-- end -->`; everything outside is written by hand.
Deterministic: the same code gives the same bytes. `tests/docs/test_generated.py` runs the check. Tables of limits
have a row for each bound that is declared above its constant in the sources (`Bound`). `DRAWINGS` are pictures, whole
files of their own.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import msgspec

from fairlead.api.admission import SERVING_STEPS
from fairlead.cli.main import INTERRUPTED, PIPE_CLOSED
from fairlead.control.authority import warning_steps
from fairlead.control.placing import Placer
from fairlead.control.roster import default_deciders
from fairlead.core import errors
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
from fairlead.model import reasons
from fairlead.model.catalog import CATALOG
from fairlead.model.event_words import EVENT_WORDS
from fairlead.model.fields import MapOf
from fairlead.model.files import load_tables
from fairlead.model.policy import evidence_rows, plane_knobs
from fairlead.model.policy.override_risks import CONTROLS
from fairlead.runtime.metrics.catalog import CATALOG as METRICS
from fairlead.runtime.server.serving import retention as kept_history
from fairlead.runtime.server.settings import ServeSettings
from fairlead.schedule.registry import PLUGINS
from fairlead.sim.faults import DEFAULT, MEANING
from fairlead.sim.sample import fault_kinds
from fairlead.sim.zoo.roster import SPECIMENS

DOCS = Path(__file__).parent
SOURCES = DOCS.parent / "src/fairlead"
_BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_DECLARATION = "#: bound:"
_LIMITS = "limits_"


class Bound(NamedTuple):
    """A row of a table of limits, as it is declared above its constant, in one line or more:

    #: bound: TABLE | what is bounded | what happens beyond it
    BODY_BYTES_MAX = 3 * 1024 * 1024
    """

    table: str
    what: str
    beyond: str
    module: str  # below `fairlead.`
    constant: str  # or Class.field

    @property
    def place(self) -> str:
        return f"`{self.module.replace('.', '/')}.py` {self.constant}"

    @property
    def unit(self) -> str:
        name = self.constant.upper()
        return "bytes" if "_BYTES" in name else "seconds" if "_SECONDS" in name else ""


def declared(module: str, source: str) -> Iterable[Bound]:
    lines = source.splitlines()
    names = dict(_constants(ast.parse(source)))
    number = 0
    while number < len(lines):
        number += 1
        text = lines[number - 1].strip()
        if not text.startswith(_DECLARATION):
            continue
        while number < len(lines) and lines[number].strip().startswith("#:"):
            text += " " + lines[number].strip().removeprefix("#:").strip()
            number += 1
        match [each.strip() for each in text.removeprefix(_DECLARATION).split("|")]:
            case [table, what, beyond] if number + 1 in names:
                yield Bound(table, what, beyond, module, names[number + 1])
            case _:
                sys.exit(
                    f"{module}, line {number}: write `{_DECLARATION} TABLE | WHAT | BEYOND` above a constant"
                )


def _constants(tree: ast.Module) -> Iterable[tuple[int, str]]:
    """The line and name of each constant of a module, and of each field of its classes."""
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for each in inner:
            targets = each.targets if isinstance(each, ast.Assign) else ()
            target = each.target if isinstance(each, ast.AnnAssign) else next(iter(targets), None)
            if isinstance(target, ast.Name):
                yield target.lineno, prefix + target.id


def _every_bound() -> Iterable[Bound]:
    for path in sorted(SOURCES.rglob("*.py")):
        source = path.read_text()
        if _DECLARATION in source:
            module = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
            yield from declared(module, source)


BOUNDS = tuple(_every_bound())


_STEPS = {
    "FightForecast": "people are warned of the controllers that the write will meet, and the audit line names them",
    "CertificateSubject": "who asks for a certificate is written into the request",
    "NamespaceLifecycle": "the namespace must exist and not be ending, and is held at its revision until the commit",
    "CustomResourceNames": "settles which names of a definition are accepted, and whether it is established",
    "CustomResourceCleanup": "a definition waits for its objects behind a finalizer",
    "AdmissionPolicyStatus": "says in the status that the expressions of the policy were checked",
    "AccessGrantReview": "a grant that was approved is deleted only when its review is closed",
    "ChaosExperiments": "refused unless the PlaneSettings allow experiments; stamped with their end",
    "AuditPolicyStatus": "says in the status that the policy is followed from this write on",
    "SchedulerOverride": "stamps who made an override and when it ends, and holds it against the guards of the plane",
    "SchedulerOverrideStatus": "the plane writes its status, a second person its approval, nobody anything else",
    "OverrideReservations": "counts a reservation at the override that it is made for, which allows so many",
    "FlowSchemaStatus": "says in the status whether the schema's priority level exists",
    "PriorityLevelReferences": "a level that comes or goes is told in the status of the schemas that name it",
    "CustomResourceLifecycle": "holds an object's definition at its revision; none is created while that ends",
    "NodeRestriction": "a node writes only what is its own",
    "SealedPods": "refuses to change, after the binding, whether at most one of a pod may run",
    "PlaneConditions": "refuses that anybody but the plane says that a pod was released, or gave its quota away",
    "ClaimsOfSets": "a StatefulSet with `volumeClaimTemplates` is refused: claims are not served",
    "NodeAuthors": "keeps on a Node who cordoned it, when and why, and which person put which taint",
    "ServiceAccount": "`default` where none is named",
    "ServiceAccountToken": "mounts a token of the account, the certificate and the namespace, where the pod and the account allow it",
    "RuntimeClass": "the class of a pod brings its overhead, node selector and tolerations",
    "Priority": "the name of a class becomes a number",
    "PriorityDefault": "one class at most is the default",
    "DefaultTolerationSeconds": "lets a pod stay five minutes on a node that is not ready or out of reach",
    "FinalizerRemoved": "tells by an Event what a finalizer guarded that a person removes",
    "LimitRanger": "default requests and limits, and bounds",
    "ServiceAddress": "an address and node ports that no other Service has; gives them back",
    "QuotaChange": "a new or changed quota is known to every write that is under way in its namespace",
    "PlacementQuotaCount": "`used` is counted by the server",
    "ResourceQuotaCount": "`used` is counted by the server",
    "PlacementQuota": "charges the placement quotas of a pod that is created with its node",
    "ResourceQuota": "charges the namespace's quotas, or refuses with 403",
}


def value_of(bound: Bound) -> float:
    module = importlib.import_module(f"fairlead.{bound.module}")
    owner, _, field = bound.constant.rpartition(".")
    number: float = (
        signature(getattr(module, owner)).parameters[field].default if owner else getattr(module, field)
    )
    return number


def shown(number: float, unit: str) -> str:
    """4 MiB, 30 s, 5 min, 1,024."""
    if unit == "bytes":
        for name, size in (("MiB", 1024 * 1024), ("KiB", 1024)):
            if number % size == 0:
                return f"{number // size:,.0f} {name}"
    if unit == "seconds":
        for name, size in (("d", 86400), ("h", 3600), ("min", 60)):
            if number % size == 0:
                return f"{number // size:.0f} {name}"
        return f"{number:,g} s" if number < 1 else f"{number:,.0f} s"
    return f"{number:,}"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(heads)]
    lines += [["---"] * len(lines[0]), *[list(row) for row in rows]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "-"


def kinds() -> str:
    heads = ("kind", "apiVersion", "resource", "short", "in a namespace", "subresources", "field selectors")
    rows = table(
        heads,
        (
            (
                kind.kind,
                f"`{kind.api_version}`",
                f"`{kind.plural}`",
                _code(kind.short_names),
                "yes" if kind.namespaced else "no",
                _code(kind.subresources),
                _code(sorted(kind.selectable)),
            )
            for kind in CATALOG
        ),
    )
    single = [kind.plural for kind in CATALOG if not kind.deletecollection]
    return rows + (f"\nWithout deletecollection: {_code(single)}.\n" if single else "")


def admission() -> str:
    """A step without its sentence in _STEPS is a KeyError: write one."""
    rows = []
    for step in warning_steps(SERVING_STEPS):
        what = _code(sorted(step.resources)) if step.resources else "all kinds"
        rows.append((step.name, f"{', '.join(sorted(step.verbs))} of {what}", _STEPS[step.name]))
    return table(("admission step", "sees", "does"), rows)


def _classes(root: type[errors.FairleadError]) -> list[type[errors.FairleadError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, root)]
    return [value for value in found if value is not root]


def api_errors() -> str:
    rows = [c for c in _classes(errors.ApiError) if issubclass(c, errors.ApiError)]
    heads = ("HTTP status", "reason", "repeat the request")
    words = {"never": "no", "now": "after reading again", "later": "later"}
    return table(heads, ((str(c.status), f"`{c.reason}`", words[c.retry]) for c in rows))


def reasons_and_owners() -> str:
    def shown_by(row: reasons.Row) -> str:
        if not row.condition:
            return "-"
        return f"`{row.condition}`" + (f" as `{row.word}`" if row.word else "")

    def owner(row: reasons.Row) -> str:
        return row.owner.replace("{node}", "NODE").replace("{scheduler}", "NAME")

    rows = (
        (row.stage, f"`{row.reason}`", owner(row), "yes" if row.adds else "no", shown_by(row), row.means)
        for row in reasons.TABLE
    )
    return table(("stage", "reason", "next step", "adds", "condition", "means"), rows)


def event_words() -> str:
    rows = (
        (f"`{row.event}`", ", ".join(f"`{each}`" for each in row.same) or "-", row.means)
        for row in EVENT_WORDS
    )
    return table(("Event", "conditions and records", "means"), rows)


def owners_otherwise() -> str:
    rows = ((stage, owner.replace("{node}", "NODE") or "-") for stage, owner in reasons.OTHERWISE.items())
    return table(("stage", "next step"), rows)


def concerned() -> str:
    rows = (
        (f"`{name}`", " or ".join(concerns))
        for name, plugin in sorted(PLUGINS.items())
        if (concerns := plugin().concerns)
    )
    return table(("filter that refuses most nodes", "next step"), rows)


def exit_codes() -> str:
    rows = [("0", "done"), ("1", "`OperatorError`, or the server refused the request")]
    classes = [c for c in _classes(errors.OperatorError) if c.exit_code > 1]
    classes.append(errors.NotFound)
    rows += [(str(c.exit_code), f"`{c.reason}`") for c in classes]
    rows += [
        (str(INTERRUPTED), "interrupted"),
        (str(PIPE_CLOSED), "the reader of the output closed the pipe"),
    ]
    return table(("exit code", "error"), rows)


def limits(name: str, current: str) -> str:
    """Rows stay where the page has them, and new ones come last: move them where they belong."""

    def position(bound: Bound) -> int:
        found = current.find(f"| {bound.place} |\n")
        return found if found >= 0 else len(current)

    rows = sorted((bound for bound in BOUNDS if bound.table == name), key=position)
    return table(
        ("bound", "value", "beyond it", "set in"),
        ((row.what, shown(value_of(row), row.unit), row.beyond, row.place) for row in rows),
    )


def retention() -> str:
    settings = ServeSettings(data_dir=DOCS, listen="", port=0, banner=False)
    kept = kept_history(settings.history_seconds)
    return table(
        ("resource", "kept for", "at most"),
        (
            (
                f"`{resource}`" if resource else "all others",
                shown(rule.seconds, "seconds"),
                shown(rule.bytes_max, "bytes"),
            )
            for resource, rule in sorted(kept.items(), reverse=True)
        ),
    )


def controls() -> str:
    rows = [
        (
            each.name,
            _code(each.fields),
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
        f"NAME is `default` or a name: in `queues` and `controllers` {_code(plane_knobs.CONTROLLERS)}; in `retries` "
        f"{_code(plane_knobs.EFFECTS)}; in `stages` {_code(plane_knobs.TIMED_STAGES)}."
    )
    return (
        table(("field of `spec`", "what", "without it", "bounds"), rows) + f"\n{textwrap.fill(names, 118)}\n"
    )


def evidence_authority() -> str:
    rows = ((f"`{confidence}`", _code(acts)) for confidence, acts in evidence_rows.AUTHORITY.items())
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


def simulated_faults() -> str:
    in_default = fault_kinds(DEFAULT)
    rows = (
        (f"`{name}`", where, what, "yes" if name in in_default else "")
        for name, (where, what) in MEANING.items()
    )
    return table(("fault", "where", "what happens", "in `std20`"), rows)


def planted_bugs() -> str:
    rows = (
        (
            f"`{each.name}`",
            str(each.number or ""),
            each.pattern,
            f"`{each.world}`",
            _code(each.invariants[:2]),
        )
        for each in SPECIMENS
    )
    return table(("plant", "known bug", "mistake", "world", "told by, among others"), rows)


def metrics() -> str:
    rows = (
        (
            f"`{each.metric.name}`",
            each.metric.type,
            _code(each.metric.labels),
            ", ".join(each.told_by),
            each.metric.told,
        )
        for each in METRICS
    )
    return table(("metric", "type", "labels", "told by", "meaning"), rows)


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
            (f"`{name}`", *(_code(sorted(forms.get(head, ()))) for head in heads))
            for name, forms in found.items()
        ),
    )


def coupling_drawing() -> str:
    drawn = [each for each in _coupled() if not set(each.fields) <= LIFE]
    return drawing.svg(msgspec.to_builtins(drawn), "Who can change whose inputs: every controller of a plane")


DRAWINGS: dict[str, Callable[[], str]] = {"concepts/coupling.svg": coupling_drawing}
TABLES: dict[str, Callable[[], str]] = {
    "coupling": coupling,
    "metrics": metrics,
    "repair_clear": repair_clear,
    "repair_ambiguous": repair_ambiguous,
    "evidence_authority": evidence_authority,
    "evidence_table": evidence_table,
    "evidence_regions": evidence_regions,
    "evidence_zones": evidence_zones,
    "kinds": kinds,
    "admission": admission,
    "api_errors": api_errors,
    "event_words": event_words,
    "reasons_and_owners": reasons_and_owners,
    "owners_otherwise": owners_otherwise,
    "concerned": concerned,
    "controls": controls,
    "exit_codes": exit_codes,
    "retention": retention,
    "plane_settings": plane_settings,
    "simulated_faults": simulated_faults,
    "planted_bugs": planted_bugs,
}


def generated(text: str) -> str:
    """A page with its tables made anew."""
    return _BLOCK.sub(lambda found: found[1] + made(found[2], found[3]) + found[4], text)


def made(name: str, current: str) -> str:
    return limits(name.removeprefix(_LIMITS), current) if name.startswith(_LIMITS) else TABLES[name]()


def main(arguments: list[str]) -> int:
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text()
        current = generated(text)
        if current != text:
            stale.append(page)
            if "--check" not in arguments:
                page.write_text(current)
    for name, draw in DRAWINGS.items():
        picture, current = DOCS / name, draw()
        if not picture.exists() or picture.read_text() != current:
            stale.append(picture)
            if "--check" not in arguments:
                picture.write_text(current)
    for page in stale:
        print(f"{'not current' if '--check' in arguments else 'wrote'}: {page.relative_to(DOCS.parent)}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
