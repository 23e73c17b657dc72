"""Runbooks that could not be carried out by machine are refused, each mistake with its path and the way out."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.catalog import CATALOG
from fairlead.model.files import load_tables
from fairlead.model.runbooks.procedure import compile_procedure
from tests.inprocess import InProcess
from tests.samples import SAMPLES

Json = dict[str, Any]
BOOKS = "/apis/fairlead.dev/v1/runbooks"


def _refusals(change: Callable[[Json], object]) -> dict[str, str]:
    book = copy.deepcopy(SAMPLES["Runbook"])
    change(book["spec"])
    status, body = InProcess().post(BOOKS, book)
    assert status == 422, body
    return {each["field"]: each["message"] for each in body["details"]["causes"]}


def _step(name: str, **action: Any) -> Callable[[Json], object]:
    return lambda spec: spec["steps"].append({"name": name, **action})


def _create(**fields: Any) -> Callable[[Json], object]:
    return _step("more", create={"object": {"apiVersion": "v1", "kind": "ConfigMap", **fields}})


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        (lambda spec: spec.pop("preconditions"), "spec.preconditions", "how does one see that this runbook applies"),
        (lambda spec: spec.pop("postconditions"), "spec.postconditions", "how does one see that it helped"),
        (lambda spec: spec.update(steps=[]), "spec.steps", "at least one"),
        (lambda spec: spec.update(summary=""), "spec.summary", "in a line"),
        (lambda spec: spec["preconditions"][0].update(expression="app.spec.replica > 1"),
         "spec.preconditions[0].expression", "undefined field 'replica'"),
        (lambda spec: spec["postconditions"][0].update(expression="app.status.readyReplicas"),
         "spec.postconditions[0].expression", "must evaluate to bool, not to int"),
        (lambda spec: spec["preconditions"][0].update(expression="params.worklod == 'x'"),
         "spec.preconditions[0].expression", "undefined field 'worklod'"),
        (lambda spec: spec["preconditions"][0].update(expression="answers.confirm.go"),
         "spec.preconditions[0].expression", "undeclared reference to 'answers'"),
        (lambda spec: spec["preconditions"][0].update(expression="app.status.conditions.exists(c, c.typ == 'x')"),
         "spec.preconditions[0].expression", "undefined field 'typ'"),
        (lambda spec: spec["read"][0].update(kind="Deploiment"), "spec.read[0].kind", "serves no such kind"),
        (lambda spec: spec["read"][0].update(kind="Secret", apiVersion="v1"), "spec.read[0].kind", "may not see secrets"),
        (lambda spec: spec["read"][0].update(objectName="${worklod}"), "spec.read[0].objectName", "${worklod} is neither"),
        (lambda spec: spec["read"][0].pop("objectName"), "spec.read[0].objectName", "give objectName, or matchLabels"),
        (lambda spec: spec["read"][0].update(name="params"), "spec.read[0].name", "Duplicate"),
        (lambda spec: spec["read"][0].update(kind="Node", apiVersion="v1", namespace="x"),
         "spec.read[0].namespace", "nodes are in no namespace"),
        (lambda spec: spec["params"][0].update(type="integer", default="x"), "spec.params[0].default", "whole number"),
        (lambda spec: spec["params"][0].update(name="a-b"), "spec.params[0].name", "a name in CEL"),
        (_step("x"), "spec.steps[5]", "exactly one of create, delete, wait, ask, verb"),
        (_step("mark", wait={"until": "true"}), "spec.steps[5].name", "Duplicate"),
        (_step("x", wait={"until": "nobody.spec"}), "spec.steps[5].wait.until", "undeclared reference to 'nobody'"),
        (_step("x", wait={"until": "true"}, timeoutSeconds=0), "spec.steps[5].timeoutSeconds", "between 1 and"),
        (_step("x", delete={"step": "ready"}), "spec.steps[5].delete.step", "an earlier step that creates"),
        (_step("x", ask={"question": "go?"}), "spec.steps[5].ask.fields", "at least one field"),
        (_step("x", verb={"verb": "scale", "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "replicas": 1}),
         "spec.steps[5].verb.kind", "cannot be scaled"),
        (_step("x", verb={"verb": "cordon", "kind": "Pod", "name": "x"}), "spec.steps[5].verb.kind", '"Node"'),
        (_step("x", verb={"verb": "scale", "apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}),
         "spec.steps[5].verb.replicas", "how many"),
        (_create(metadata={"name": "mine"}), "spec.steps[5].create.object.metadata.name", "the run gives the name"),
        (_create(data=[1]), "spec.steps[5].create.object.data", "must be an object"),
        (_create(metadata={"labels": "${workload}"}), "spec.steps[5].create.object.metadata.labels", "must be an object"),
        (_create(metadata={"finalizers": {}}), "spec.steps[5].create.object.metadata.finalizers", "must be a list"),
        (_create(immutable={}), "spec.steps[5].create.object.immutable", "must be a bool"),
        (_create(dta={}), "spec.steps[5].create.object.dta", "there is no such field"),
        (_create(data={"x": "${confirm.gone}"}), "spec.steps[5].create.object.data.x", "${confirm.gone} is neither"),
        (_create(kind="ConfigMapp"), "spec.steps[5].create.object.kind", "serves no such kind"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(change: Callable[[Json], object], field: str, says: str) -> None:
    found = _refusals(change)
    assert says in found.get(field, ""), found


def test_an_unknown_verb_is_refused_by_the_schema() -> None:
    book = copy.deepcopy(SAMPLES["Runbook"])
    book["spec"]["steps"].append({"name": "x", "verb": {"verb": "reboot", "name": "x"}})
    status, body = InProcess().post(BOOKS, book)
    assert (status, "rollBack" in body["message"]) == (422, True)


def test_all_mistakes_are_told_at_once() -> None:
    def change(spec: Json) -> None:
        spec["preconditions"][0]["expression"] = "1 +"
        spec["read"][0]["kind"] = "Nothing"

    assert {"spec.preconditions[0].expression", "spec.read[0].kind"} <= set(_refusals(change))


def test_a_runbook_goes_stale_with_the_kind_it_names_and_no_run_begins() -> None:
    plane = InProcess()
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "gates", "singular": "gate", "kind": "Gate"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gates.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert plane.post(definitions, definition)[0] == 201
    book = copy.deepcopy(SAMPLES["Runbook"])
    book["spec"]["read"].append(
        {"name": "gate", "apiVersion": "example.com/v1", "kind": "Gate", "objectName": "g"}
    )
    assert plane.post(BOOKS, book)[0] == 201
    plane.delete(f"{definitions}/gates.example.com")
    plane.patch(f"{definitions}/gates.example.com", {"metadata": {"finalizers": None}})
    plane.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    status, body = plane.post("/apis/fairlead.dev/v1/namespaces/shop/runbookruns", SAMPLES["RunbookRun"])
    assert status == 422
    assert "the runbook is stale" in body["message"]
    assert "example.com/v1 Gate" in body["message"]


SERIES = {"fairlead_queue_depth": ("controller",), "latency_seconds_count": (), "latency_seconds_sum": ()}


def _of_measures(**given: Any) -> dict[str, str]:
    """Where a server tells these series; what is wrong, by its path."""
    spec = {**copy.deepcopy(SAMPLES["Runbook"]["spec"]), **given}
    problems = Problems()
    compile_procedure(spec, CATALOG, load_tables(), problems, series=SERIES)
    return {each.field: each.message for each in problems.causes}


def _metric(**given: Any) -> Json:
    return {"name": "depth", "metric": "fairlead_queue_depth", **given}


def _decisions(**given: Any) -> Json:
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "objectName": "web"}
    return {"name": "decided", **about, **given}


def test_metrics_and_decisions_that_there_are_may_be_named() -> None:
    sees = "depth < 3 && decided.attempts < 10 && (decided.since == '' || now - timestamp(decided.since) > duration('5m')) && decided.last.reason != 'PodsUnavailable'"
    conditions = [{"name": "sees", "expression": sees}]
    given = {"metrics": [_metric(labels={"controller": "job"})], "decisions": [_decisions(withinSeconds=60)]}
    assert _of_measures(**given, postconditions=conditions) == {}


@pytest.mark.parametrize(
    ("given", "field", "says"),
    [
        ({"metrics": [_metric(metric="gone_total")]}, "metrics[0].metric", "this server tells no such metric"),
        ({"metrics": [_metric(metric="")]}, "metrics[0].metric", "the name of a metric"),
        ({"metrics": [_metric(metric="latency_seconds")]}, "metrics[0].metric", "name latency_seconds_count or"),
        ({"metrics": [_metric(labels={"zone": "a"})]}, "metrics[0].labels.zone", "it has: controller"),
        ({"metrics": [_metric(labels={"controller": "${no}"})]}, "metrics[0].labels.controller", "${no} is neither"),
        ({"metrics": [_metric(name="now")]}, "metrics[0].name", "now"),
        ({"metrics": [_metric()] * 2}, "metrics[1].name", "depth"),
        ({"metrics": [_metric(name=f"d{n}") for n in range(17)]}, "metrics", "16"),
        ({"decisions": [_decisions(kind="Deplyment")]}, "decisions[0].kind", "serves no such kind"),
        ({"decisions": [_decisions(objectName="")]}, "decisions[0].objectName", "that was decided about"),
        ({"decisions": [_decisions(withinSeconds=86401)]}, "decisions[0].withinSeconds", "between 1 and 86400"),
        ({"decisions": [_decisions(name=f"d{n}") for n in range(17)]}, "decisions", "16"),
        (
            {"decisions": [_decisions(apiVersion="v1", kind="Node", namespace="a")]},
            "decisions[0].namespace",
            "nodes are in no namespace",
        ),
        (
            {"decisions": [_decisions()], "postconditions": [{"name": "a", "expression": "decided.last.why == ''"}]},
            "postconditions[0].expression",
            "undefined field 'why'",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused_by_its_name(given: Json, field: str, says: str) -> None:
    found = _of_measures(**given)
    assert says in found[f"spec.{field}"]
