"""A runbook's spec, compiled: what a run evaluates and does, or every reason why that cannot be.

Called when a Runbook is written, with the kinds that are served then (`api/runbooks/checking.py`): what it names and
does not exist is told by its path. The same is how a stale runbook is found. Called again by the controller that
advances runs, on the copy of the spec that a run has. Pure.

    expression of          sees
    every condition        the objects of `read`, what `metrics` and `decisions` name, `params`, `run` and `now`
    a step, postconditions the same, and `answers` to the steps before

Nothing here needs to be bounded while it runs: expressions are (`model/cel/program.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairlead.core.problems import Problems
from fairlead.model.catalog import Catalog
from fairlead.model.cel.errors import ExpressionError
from fairlead.model.cel.program import Program, compile_expression
from fairlead.model.cel.static import STRING, Fields, StaticType
from fairlead.model.fields import FieldTables
from fairlead.model.kind import Json, Kind
from fairlead.model.runbooks.filling import RUN_FACTS, check_names
from fairlead.model.runbooks.measures import (
    DECISIONS,
    MEASURES_MAX,
    METRIC,
    WITHIN_SECONDS,
    WITHIN_SECONDS_MAX,
    DecisionsRead,
    MetricRead,
    SeriesLabels,
    check_metric,
)
from fairlead.model.runbooks.objects import check_object
from fairlead.model.runbooks.sight import list_of, static_of, table_static_of
from fairlead.model.runbooks.values import NAME, check_fields, scope_of

_BOOL = frozenset({"bool"})
_FACTS = {"run": Fields({"name": STRING, "namespace": STRING, "user": STRING, "startedAt": STRING})}
_NOW = {"now": StaticType("google.protobuf.Timestamp")}
RESERVED = frozenset({"params", "answers", "run", "now"})
ACTIONS = ("create", "delete", "wait", "ask", "verb")
ALL = "*"
TIMEOUT_SECONDS, SETTLE_SECONDS, STEP_SECONDS = 3600, 300, 300
#: bound: objects | steps of a runbook | 422
STEPS_MAX = 64
#: bound: objects | pre-, postconditions or abort rules of a runbook, each | 422
CONDITIONS_MAX = 32
#: bound: objects | variables that expressions of a runbook read | 422
READS_MAX = 32
#: bound: objects | time that a runbook, or a step of one, may ask for | 422
SECONDS_MAX = 7 * 86400


class VerbRule(NamedTuple):
    """A verb of the closed list: on which kind it works; "": on any that can be scaled."""

    api_version: str
    kind: str
    undone_by: str = ""  # in words, where it cannot be undone


VERBS: Mapping[str, VerbRule] = {
    "scale": VerbRule("", ""),
    "cordon": VerbRule("v1", "Node"),
    "uncordon": VerbRule("v1", "Node"),
    "evict": VerbRule("v1", "Pod", "an evicted pod does not come back; its owner makes another"),
    "pauseRollout": VerbRule("apps/v1", "Deployment"),
    "resumeRollout": VerbRule("apps/v1", "Deployment"),
    "rollBack": VerbRule("apps/v1", "Deployment", "roll forward by applying the newer manifest again"),
}


class CheckedCondition(NamedTuple):
    name: str
    program: Program
    message: str


class Read(NamedTuple):
    name: str
    kind: Kind
    namespace: str  # "": the run's; "*": all
    object_name: str
    labels: Mapping[str, str] | None  # None: one object, by its name


class RunbookStep(NamedTuple):
    name: str
    action: str
    given: Json  # what stands below the action
    kind: Kind | None  # of what is created or changed
    when: Program | None
    until: Program | None
    timeout_seconds: int


class Procedure(NamedTuple):
    params: Sequence[Json]
    reads: tuple[Read, ...]
    metrics: tuple[MetricRead, ...]
    decisions: tuple[DecisionsRead, ...]
    preconditions: tuple[CheckedCondition, ...]
    steps: tuple[RunbookStep, ...]
    postconditions: tuple[CheckedCondition, ...]
    abort_when: tuple[CheckedCondition, ...]
    timeout_seconds: int
    settle_seconds: int

    @property
    def is_measuring(self) -> bool:
        """Whether it sees more than objects."""
        return bool(self.metrics or self.decisions)

    def step(self, name: str) -> RunbookStep | None:
        return next((each for each in self.steps if each.name == name), None)


def compile_procedure(
    spec: Json,
    catalog: Catalog,
    tables: FieldTables | None,
    problems: Problems,
    path: str = "spec",
    series: SeriesLabels | None = None,
) -> Procedure:
    """What is wrong is told, and left out. `tables`, `series`: None where fields, or metrics, were checked before."""
    return _Compiling(spec, catalog, tables, problems, path, series).all()


class _Compiling:
    def __init__(
        self,
        spec: Json,
        catalog: Catalog,
        tables: FieldTables | None,
        problems: Problems,
        path: str,
        series: SeriesLabels | None,
    ) -> None:
        self._series = series
        self._variables: set[str] = set(RESERVED)
        self._spec = spec
        self._catalog = catalog
        self._tables = tables
        self._problems = problems
        self._path = path
        self._params: list[Json] = spec.get("params") or []
        self._scope: dict[str, StaticType] = {"params": scope_of(self._params), **_FACTS, **_NOW}
        self._answers: dict[str, StaticType] = {}
        self._names: set[str] = {*(str(each.get("name")) for each in self._params), *RUN_FACTS}

    def all(self) -> Procedure:
        problems, path = self._problems, self._path
        if not self._spec.get("summary"):
            problems.required(f"{path}.summary", "what it is for, in a line")
        check_fields(self._params, f"{path}.params", problems, RESERVED)
        reads, metrics, decisions = self._reads(), self._metrics(), self._decisions()
        before = self._conditions("preconditions", required="how does one see that this runbook applies?")
        abort_when = self._conditions("abortWhen")
        steps = self._steps()
        self._scope["answers"] = Fields(self._answers)
        after = self._conditions("postconditions", required="how does one see that it helped?")
        return Procedure(
            self._params,
            reads,
            metrics,
            decisions,
            preconditions=before,
            steps=steps,
            postconditions=after,
            abort_when=abort_when,
            timeout_seconds=self._seconds(self._spec, "timeoutSeconds", TIMEOUT_SECONDS, path),
            settle_seconds=self._seconds(self._spec, "settleSeconds", SETTLE_SECONDS, path),
        )

    def _seconds(self, given: Json, name: str, otherwise: int, path: str) -> int:
        found = given.get(name)
        if found is None:
            return otherwise
        if not 1 <= found <= SECONDS_MAX:
            self._problems.invalid(f"{path}.{name}", found, f"must be between 1 and {SECONDS_MAX}")
        return int(found)

    def _list(self, name: str, most: int) -> list[Json]:
        found: list[Json] = self._spec.get(name) or []
        if len(found) > most:
            self._problems.too_many(f"{self._path}.{name}", len(found), most)
        return found[:most]

    def _kind(self, given: Json, path: str) -> Kind | None:
        api_version, name = str(given.get("apiVersion") or ""), str(given.get("kind") or "")
        if not api_version or not name:
            self._problems.required(path, "apiVersion and kind say what it is")
            return None
        group, _, version = api_version.rpartition("/")
        found = self._catalog.find_kind(group, version, name)
        if found is None:
            self._problems.invalid(path, f"{api_version} {name}", "this API serves no such kind")
        return found

    def _expression(self, text: str, path: str) -> Program | None:
        if not text.strip():
            self._problems.required(path, "an expression in CEL")
            return None
        try:
            return compile_expression(text, self._scope, _BOOL)
        except ExpressionError as error:
            self._problems.invalid(path, text, f"compilation failed: {error}")
            return None

    def _check_name(self, name: str, path: str, seen: set[str]) -> None:
        if not NAME.fullmatch(name):
            self._problems.invalid(path, name, "must be a name in CEL: letters, digits and _")
        elif name in seen:
            self._problems.duplicate(path, name)
        seen.add(name)

    def _conditions(self, field: str, required: str = "") -> tuple[CheckedCondition, ...]:
        given, seen = self._list(field, CONDITIONS_MAX), set[str]()
        if required and not given:
            self._problems.required(f"{self._path}.{field}", required)
        found = []
        for index, each in enumerate(given):
            at, name = f"{self._path}.{field}[{index}]", str(each.get("name") or "")
            self._check_name(name, f"{at}.name", seen)
            program = self._expression(str(each.get("expression") or ""), f"{at}.expression")
            if program is not None:
                found.append(CheckedCondition(name, program, str(each.get("message") or "")))
        return tuple(found)

    def _reads(self) -> tuple[Read, ...]:
        found = []
        for index, each in enumerate(self._list("read", READS_MAX)):
            at, name = f"{self._path}.read[{index}]", str(each.get("name") or "")
            self._check_name(name, f"{at}.name", self._variables)
            kind, labels = self._kind(each, f"{at}.kind"), each.get("matchLabels")
            one = str(each.get("objectName") or "")
            if bool(one) == (labels is not None):
                self._problems.required(f"{at}.objectName", "give objectName, or matchLabels ({} means all)")
            for part in ("namespace", "objectName", "matchLabels"):
                check_names(each.get(part), self._names, f"{at}.{part}", self._problems)
            if kind is None:
                continue
            if kind.sensitive:
                self._problems.forbidden(f"{at}.kind", f"expressions may not see {kind.plural}")
            if each.get("namespace") and not kind.namespaced:
                self._problems.invalid(
                    f"{at}.namespace", each["namespace"], f"{kind.plural} are in no namespace"
                )
            if each.get("namespace") == ALL and one:
                self._problems.invalid(f"{at}.namespace", ALL, "one object is in one namespace")
            static = static_of(kind, self._tables)
            self._scope[name] = list_of(static) if labels is not None else static
            found.append(Read(name, kind, str(each.get("namespace") or ""), one, labels))
        return tuple(found)

    def _metrics(self) -> tuple[MetricRead, ...]:
        found = []
        for index, each in enumerate(self._list("metrics", MEASURES_MAX)):
            at, name = f"{self._path}.metrics[{index}]", str(each.get("name") or "")
            self._check_name(name, f"{at}.name", self._variables)
            check_metric(each, at, self._series, self._problems)
            check_names(each.get("labels"), self._names, f"{at}.labels", self._problems)
            self._scope[name] = METRIC
            found.append(MetricRead(name, str(each.get("metric") or ""), each.get("labels") or {}))
        return tuple(found)

    def _decisions(self) -> tuple[DecisionsRead, ...]:
        found = []
        for index, each in enumerate(self._list("decisions", MEASURES_MAX)):
            at, name = f"{self._path}.decisions[{index}]", str(each.get("name") or "")
            self._check_name(name, f"{at}.name", self._variables)
            self._scope[name] = DECISIONS
            kind, within = self._kind(each, f"{at}.kind"), each.get("withinSeconds")
            if not each.get("objectName"):
                self._problems.required(f"{at}.objectName", "the object that was decided about")
            for part in ("namespace", "objectName", "controller"):
                check_names(each.get(part), self._names, f"{at}.{part}", self._problems)
            if within is not None and not 1 <= within <= WITHIN_SECONDS_MAX:
                told = f"must be between 1 and {WITHIN_SECONDS_MAX}"
                self._problems.invalid(f"{at}.withinSeconds", within, told)
            if kind is None:
                continue
            space, one = str(each.get("namespace") or ""), str(each.get("objectName") or "")
            if space and not kind.namespaced:
                self._problems.invalid(f"{at}.namespace", space, f"{kind.plural} are in no namespace")
            by = str(each.get("controller") or "")
            found.append(DecisionsRead(name, kind, space, one, by, within or WITHIN_SECONDS))
        return tuple(found)

    # Steps

    def _steps(self) -> tuple[RunbookStep, ...]:
        given, seen = self._list("steps", STEPS_MAX), set[str]()
        if not given:
            self._problems.required(f"{self._path}.steps", "at least one")
        found: list[RunbookStep] = []
        for index, each in enumerate(given):
            at, name = f"{self._path}.steps[{index}]", str(each.get("name") or "")
            self._check_name(name, f"{at}.name", seen)
            self._scope["answers"] = Fields(dict(self._answers))
            when = self._expression(each["when"], f"{at}.when") if each.get("when") is not None else None
            actions = [action for action in ACTIONS if each.get(action) is not None]
            if len(actions) != 1:
                told = " and ".join(actions) or "none"
                self._problems.invalid(at, told, f"must have exactly one of {', '.join(ACTIONS)}")
                continue
            action = actions[0]
            body, below = each[action], f"{at}.{action}"
            kind = until = None
            match action:
                case "create":
                    kind = self._created(body, below)
                case "delete":
                    if not any(step.name == body.get("step") and step.action == "create" for step in found):
                        told = "must name an earlier step that creates"
                        self._problems.invalid(f"{below}.step", body.get("step") or "", told)
                case "wait":
                    until = self._expression(str(body.get("until") or ""), f"{below}.until")
                case "ask":
                    self._asked(name, body, below)
                case "verb":
                    kind = self._verb(body, below)
            seconds = self._seconds(each, "timeoutSeconds", STEP_SECONDS, at)
            found.append(RunbookStep(name, action, body, kind, when, until, seconds))
        return tuple(found)

    def _created(self, body: Json, path: str) -> Kind | None:
        found: Any = body.get("object")
        if not isinstance(found, dict):
            self._problems.required(f"{path}.object", "the object to create")
            return None
        kind = self._kind(found, f"{path}.object.kind")
        check_names(found, self._names, f"{path}.object", self._problems)
        if kind is not None:
            check_object(found, kind, table_static_of(kind, self._tables), f"{path}.object", self._problems)
        return kind

    def _asked(self, name: str, body: Json, path: str) -> None:
        fields: list[Json] = body.get("fields") or []
        if not body.get("question"):
            self._problems.required(f"{path}.question", "what is asked")
        if not fields:
            self._problems.required(f"{path}.fields", "what is to be answered: at least one field")
        check_names(body.get("question"), self._names, f"{path}.question", self._problems)
        check_fields(fields, f"{path}.fields", self._problems)
        self._answers[name] = scope_of(fields)
        self._names.update(f"{name}.{each.get('name')}" for each in fields)

    def _verb(self, body: Json, path: str) -> Kind | None:
        rule = VERBS.get(str(body.get("verb") or ""))
        if rule is None:
            self._problems.unsupported(f"{path}.verb", body.get("verb") or "", VERBS)
            return None
        for part in ("name", "namespace", "replicas"):
            check_names(body.get(part), self._names, f"{path}.{part}", self._problems)
        if rule.kind and body.get("kind") not in (None, "", rule.kind):
            self._problems.unsupported(f"{path}.kind", body["kind"], (rule.kind,))
            return None
        named = {"apiVersion": rule.api_version, "kind": rule.kind} if rule.kind else body
        kind = self._kind(named, f"{path}.kind")
        if not rule.kind:
            if kind is not None and kind.scale is None:
                self._problems.invalid(f"{path}.kind", kind.kind, "cannot be scaled")
            if body.get("replicas") is None:
                self._problems.required(f"{path}.replicas", "how many")
        elif body.get("replicas") is not None:
            self._problems.forbidden(f"{path}.replicas", "only scale has replicas")
        return kind
