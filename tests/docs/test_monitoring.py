"""Alerts and dashboard: every metric in them exists, with the labels that are asked for, and each leads to a cause."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import yaml

from fairlead.cli.main import VERBS
from fairlead.runtime.metrics.catalog import CATALOG
from tests.docs.pages import ROOT

FOLDER = ROOT / "monitoring"
LABELS = {each.metric.name: set(each.metric.labels) for each in CATALOG}
HISTOGRAMS = {each.metric.name for each in CATALOG if each.metric.is_histogram}
# Prometheus adds these, and `up` is its own.
ADDED = {"job", "instance"}
FUNCTIONS = {
    "rate", "increase", "sum", "max", "min", "topk", "histogram_quantile", "by", "without", "on", "group_left", "or",
    "and", "unless",
}  # fmt: skip
WORD = re.compile(r"[a-z_][a-z0-9_]*", re.IGNORECASE)
SELECTOR = re.compile(r"([a-z_][a-z0-9_]*)\{([^}]*)\}")
GROUPING = re.compile(r"\b(by|without|on)\s*\(([^)]*)\)")


class Expression(NamedTuple):
    where: str
    text: str


def metric_of(name: str) -> str:
    """The metric that a sample's name belongs to; "" for none."""
    if name in LABELS and name not in HISTOGRAMS:
        return name
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if base in HISTOGRAMS and base != name else ""


def rules() -> list[dict[str, Any]]:
    found = yaml.safe_load((FOLDER / "rules.yaml").read_text())
    return [rule for group in found["groups"] for rule in group["rules"]]


def expressions() -> Iterator[Expression]:
    for rule in rules():
        yield Expression(rule["alert"], rule["expr"])
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield Expression(panel["title"], target["expr"])


def problems(text: str) -> list[str]:
    """What is wrong with an expression of PromQL, as far as names, labels and brackets tell."""
    found = []
    for opening, closing in ("()", "[]", "{}"):
        if text.count(opening) != text.count(closing):
            found.append(f"{opening} and {closing} do not match")
    labels = set(ADDED)
    bare = re.sub(r'"[^"]*"', '""', text)
    for name, inside in SELECTOR.findall(bare):
        known = LABELS.get(metric_of(name), set()) | ADDED
        for each in filter(None, (part.strip() for part in inside.split(","))):
            label = WORD.match(each)
            if label is None or label[0] not in known:
                found.append(f"{name} has no label {each}")
    without = GROUPING.sub(" ", re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", bare))
    names = {word for word in WORD.findall(without) if word not in FUNCTIONS}
    for name in sorted(names - {"up"}):
        if metric_of(name):
            labels |= LABELS[metric_of(name)] | ({"le"} if metric_of(name) in HISTOGRAMS else set())
        else:
            found.append(f"there is no metric {name}")
    for _, inside in GROUPING.findall(bare):
        for label in (part.strip() for part in inside.split(",")):
            if label not in labels:
                found.append(f"nothing in it has a label {label}")
    return found


@pytest.mark.parametrize("expression", [*expressions()], ids=lambda each: each.where)
def test_every_metric_exists_and_has_the_labels_that_are_asked_for(expression: Expression) -> None:
    assert problems(expression.text) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("fairlead_no_such_metric > 0", "there is no metric fairlead_no_such_metric"),
        ("rate(fairlead_plane_leads[5m]", "( and ) do not match"),
        ('scheduler_pending_pods{line="x"}', 'scheduler_pending_pods has no label line=""'),
        ("sum by (stage) (fairlead_plane_leads)", "nothing in it has a label stage"),
        (
            "rate(apiserver_request_duration_seconds[5m])",
            "there is no metric apiserver_request_duration_seconds",
        ),
    ],
)
def test_what_is_wrong_is_found(text: str, told: str) -> None:
    assert told in problems(text)


@pytest.mark.parametrize("rule", rules(), ids=lambda each: each["alert"])
def test_an_alert_leads_to_a_command_and_to_a_section_of_the_page(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("warning", "critical")
    annotations = rule["annotations"]
    tool, verb, *_ = annotations["command"].split()
    assert tool == "kubectl" or (tool == "fairlead" and verb in {each.name for each in VERBS})
    page, _, anchor = annotations["runbook_url"].partition("#")
    headings = re.findall(r"^### (\w+)$", (ROOT / page).read_text(), re.MULTILINE)
    assert rule["alert"] in headings
    assert anchor == rule["alert"].lower()
    shown = set(re.findall(r"\$labels\.(\w+)", annotations["summary"]))
    names = {metric_of(word) for word in WORD.findall(rule["expr"])} - {""}
    assert shown <= {label for name in names for label in LABELS[name]} | ADDED


def test_every_section_of_the_page_is_an_alert_and_every_panel_leads_to_one() -> None:
    alerts = {rule["alert"] for rule in rules()}
    page = (ROOT / "docs/guides/monitoring.md").read_text()
    assert set(re.findall(r"^### (\w+)$", page, re.MULTILINE)) == alerts
    anchors = {alert.lower() for alert in alerts}
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]:
        for link in panel.get("links", ()):
            assert link["url"].partition("#")[2] in anchors, panel["title"]


def test_the_dashboard_is_what_its_table_of_panels_makes() -> None:
    done = subprocess.run([sys.executable, FOLDER / "make_dashboard.py", "--check"], check=False)
    assert done.returncode == 0, "run `python monitoring/make_dashboard.py`"
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_prometheus_itself_takes_the_rules_where_it_is_installed() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run(
        [promtool, "check", "rules", FOLDER / "rules.yaml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
