"""`fairlead runbook run --dry-run`: the run as it would be, on the live plane, and nothing is changed.

The server stamps and judges the run as a dry run, with the rights of who asks; expressions are evaluated here, by the
code that advances runs (`reconcile/runbooks/`), on objects that are read through the API; and each object that a step
would create is offered to the server as a dry run, so that a refusal is known before the first step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import structs

from fairlead.cli.client import ApiClient
from fairlead.cli.output import cell, print_json, print_yaml
from fairlead.cli.runbook.page import describe
from fairlead.cli.runbook.readings import read_now
from fairlead.core.errors import ApiError, NotFound
from fairlead.core.problems import Problems
from fairlead.core.times import parse_time
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.cel.errors import EvaluationError
from fairlead.model.key import Key
from fairlead.model.kind import Kind
from fairlead.model.runbooks.filling import fill_text
from fairlead.model.runbooks.procedure import CheckedCondition, RunbookStep, compile_procedure
from fairlead.model.runbooks.sight import VIEWS
from fairlead.model.selectors import LabelMatcher, from_object
from fairlead.model.views import Resource, Stored, View
from fairlead.model.views.runbooks import RunbookRun, RunReadings
from fairlead.reconcile.runbooks import verbs
from fairlead.reconcile.runbooks.scene import Scene, seen_resources
from fairlead.reconcile.runbooks.steps import rendered

Json = dict[str, Any]
T = TypeVar("T", bound=View)


class DryRunLine(NamedTuple):
    """What came of one line of the dry run. `holds`: None where it cannot be told before the run."""

    part: str
    name: str
    holds: bool | None
    message: str
    object: Json | None = None


def show_dry_run(client: ApiClient, run: Json, as_json: bool) -> int:
    lines = DryRun(client, run).look()
    may_begin = all(each.holds for each in lines if each.part == "precondition")
    refused = [each for each in lines if each.part == "step" and each.holds is False]
    if as_json:
        print_json({"mayBegin": may_begin and not refused, "lines": [each._asdict() for each in lines]})
        return 0 if may_begin and not refused else 1
    words = {True: "yes", False: "NO", None: "later"}
    for each in lines:
        print(f"{each.part:<13} {words[each.holds]:<6} {each.name}: {cell(each.message)}")
        if each.object is not None:
            print_yaml(each.object)
    if not may_begin:
        print("it would not begin: a precondition does not hold; nothing was changed")
    elif refused:
        print(f"it would be aborted at {refused[0].name}; nothing was changed")
    else:
        print("it would begin; nothing was changed")
    return 0 if may_begin and not refused else 1


class LiveObjects:
    """Objects as the API has them now, in the views that a plane would read them in."""

    def __init__(self, client: ApiClient, plurals: dict[str, tuple[str, bool]]) -> None:
        self._client = client
        self._plurals = plurals

    def get(self, resource: Resource[T], namespace: str, name: str) -> T | None:
        try:
            found = self._client.get(f"{self._path(resource, namespace)}/{name}")
        except NotFound:
            return None
        return self._view(resource, found)

    def select(
        self, resource: Resource[T], namespace: str, selector: LabelMatcher | Json | None
    ) -> Sequence[T]:
        matcher = selector if isinstance(selector, LabelMatcher) else from_object(selector)
        page = self._client.get(self._path(resource, namespace))
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        return [
            self._view(resource, {**head, **each})
            for each in page.get("items") or ()
            if matcher.matches(each["metadata"].get("labels") or {})
        ]

    def owned(self, resource: Resource[T], owner_uid: str, namespace: str = "") -> Sequence[T]:
        page = self._client.get(self._path(resource, namespace))
        return [
            self._view(resource, each)
            for each in page.get("items") or ()
            if any(owner["uid"] == owner_uid for owner in each["metadata"].get("ownerReferences") or ())
        ]

    def _path(self, resource: Resource[Any], namespace: str) -> str:
        root = (
            f"/apis/{resource.api_version}" if "/" in resource.api_version else f"/api/{resource.api_version}"
        )
        within = f"/namespaces/{namespace}" if namespace and self._plurals[resource.name][1] else ""
        return f"{root}{within}/{self._plurals[resource.name][0]}"

    def _view(self, resource: Resource[T], found: Json) -> T:
        data, meta = msgspec.json.encode(found), found["metadata"]
        view = VIEWS.get(resource.name)
        made: Any
        if view is None:
            key = Key(resource.name, meta.get("namespace", ""), meta["name"])
            made = Stored.of(key, meta["uid"], int(meta["resourceVersion"]), data)
        else:
            made = msgspec.json.decode(data, type=view)
        return made  # type: ignore[no-any-return]


class DryRun:
    """One run that is not made: `scene` is what its expressions see."""

    def __init__(self, client: ApiClient, run: Json) -> None:
        self._client = client
        metadata = {"resourceVersion": "0", **run["metadata"]}
        metadata.setdefault("uid", "00000000-0000-0000-0000-000000000000")
        metadata.setdefault("name", metadata.get("generateName", "run-") + "00000")
        view = msgspec.convert({**run, "metadata": metadata}, RunbookRun)
        catalog = self._kinds(view.spec.procedure)
        problems = Problems()
        procedure = compile_procedure(view.spec.procedure, catalog, None, problems, "spec.procedure")
        if problems:
            raise ApiError(problems.summary())
        plurals = {kind.resource: (kind.plural, kind.namespaced) for kind in catalog}
        now = parse_time(run["metadata"]["creationTimestamp"])
        self.scene = Scene(LiveObjects(client, plurals), view, procedure, seen_resources(catalog), now)
        if procedure.is_measuring:
            values = read_now(client, procedure, self.scene.places, now)
            readings = RunReadings(run["metadata"]["creationTimestamp"], values)
            self.scene.run = structs.replace(view, status=structs.replace(view.status, readings=readings))
        # Nobody has answered yet: what is asked stands in its place.
        for step in procedure.steps:
            for field in step.given.get("fields") or () if step.action == "ask" else ():
                self.scene.places.setdefault(f"{step.name}.{field['name']}", f"<{step.name}.{field['name']}>")

    def _kinds(self, procedure: Json) -> Catalog:
        """Those of Fairlead, and of the server's others those that the procedure names."""
        from fairlead.cli.resources import resolve

        named = list(procedure.get("read") or ())
        named += [each["create"]["object"] for each in procedure["steps"] if each.get("create")]
        named += [each["verb"] for each in procedure["steps"] if (each.get("verb") or {}).get("kind")]
        found: dict[tuple[str, str], Kind] = {}
        for each in named:
            group, _, version = str(each.get("apiVersion")).rpartition("/")
            if CATALOG.find_kind(group, version, each["kind"]) is None:
                typed = f"{each['kind'].lower()}.{group}" if group else each["kind"].lower()
                served = resolve(self._client, typed)
                kind = Kind(group, version, each["kind"], served.plural, served.namespaced, each["kind"])
                found[each["apiVersion"], each["kind"]] = kind
        return Catalog((*CATALOG, *found.values()))

    def look(self) -> list[DryRunLine]:
        procedure = self.scene.procedure
        lines = [self._condition("precondition", each) for each in procedure.preconditions]
        lines += [self._abort_rule(each) for each in procedure.abort_when]
        given = {each["name"]: each for each in self.scene.run.spec.procedure["steps"]}
        lines += [self._step(each, given[each.name]) for each in procedure.steps]
        for each in procedure.postconditions:
            lines.append(DryRunLine("postcondition", each.name, None, " ".join(each.program.text.split())))
        return lines

    def _condition(self, part: str, condition: CheckedCondition) -> DryRunLine:
        unmet = self.scene.unmet((condition,))
        text = " ".join(condition.program.text.split())
        return DryRunLine(part, condition.name, not unmet.name, unmet.why if unmet.name else text)

    def _abort_rule(self, condition: CheckedCondition) -> DryRunLine:
        met = self.scene.met((condition,))
        text = " ".join(condition.program.text.split())
        return DryRunLine(
            "abort rule", condition.name, not met.name, f"would abort: {met.why}" if met.name else text
        )

    def _step(self, step: RunbookStep, given: Json) -> DryRunLine:
        text = fill_text(describe(given), self.scene.places)
        try:
            if step.when is not None and "answers" not in step.when.uses and not self.scene.holds(step.when):
                return DryRunLine(
                    "step", step.name, None, f"left out as things are: {step.when.text.strip()} is false"
                )
        except EvaluationError as error:
            return DryRunLine(
                "step", step.name, None, f"{text}; whether it is left out is not known: {error}"
            )
        if step.action == "create":
            return self._create(step, text)
        if step.action == "verb":
            try:
                before = verbs.value_before(self.scene, step)
            except verbs.Impossible as error:
                return DryRunLine("step", step.name, None, f"{text}; as things are: {error}")
            return DryRunLine("step", step.name, True, f"{text}; it is {before} now")
        return DryRunLine("step", step.name, None, text)

    def _create(self, step: RunbookStep, text: str) -> DryRunLine:
        assert step.kind is not None
        body = rendered(self.scene, step)
        kind, space = step.kind, body["metadata"].get("namespace", "")
        root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
        within = f"/namespaces/{space}" if space else ""
        if any(f"<{each}>" in str(body) for each in self.scene.places if "." in each):
            return DryRunLine("step", step.name, None, f"{text}, with what is answered", body)
        try:
            self._client.post(f"{root}{within}/{kind.plural}", body, {"dryRun": "All"})
        except ApiError as error:
            return DryRunLine("step", step.name, False, f"{text}; the API would refuse it: {error}", body)
        return DryRunLine("step", step.name, True, text, body)
