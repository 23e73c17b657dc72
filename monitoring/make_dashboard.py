"""Writes dashboard.json, the Grafana dashboard of a Fairlead plane, from the table of panels below.

    python monitoring/make_dashboard.py           rewrite it
    python monitoring/make_dashboard.py --check   exit 1 if it is not current

Every panel has a sentence with the command that goes from the number to the cause, and a link to the page about it.
`tests/docs/test_monitoring.py` runs the check, and looks that every metric exists.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parent / "dashboard.json"
PAGE = "docs/guides/monitoring.md"
_WIDTH, _HEIGHT, _PER_ROW = 8, 7, 3
_PERCENT, _SECONDS, _RATE, _COUNT = "percentunit", "s", "ops", "short"


class Panel(NamedTuple):
    title: str
    unit: str
    cause: str  # the command that shows it
    queries: tuple[tuple[str, str], ...]  # expression, legend
    anchor: str
    kind: str = "timeseries"


ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "At a glance",
        (
            Panel(
                "Control plane: failing checks",
                _COUNT,
                "fairlead status",
                (("sum by (check) (fairlead_plane_check_failed)", "{{check}}"),),
                "fairleadplaneunwell",
                "stat",
            ),
            Panel(
                "Pods on their way",
                _COUNT,
                "fairlead progress KIND/NAME",
                (("sum by (stage) (fairlead_pods_on_the_way)", "{{stage}}"),),
                "fairleadpodsstuck",
            ),
            Panel(
                "Pods stuck beyond the limit of their stage",
                _COUNT,
                "fairlead explain pod/NAME",
                (("sum by (stage) (fairlead_pods_stuck)", "{{stage}}"),),
                "fairleadpodsstuck",
            ),
            Panel(
                "Pods that wait for a node",
                _COUNT,
                "fairlead explain pod/NAME",
                (("sum by (queue) (scheduler_pending_pods)", "{{queue}}"),),
                "fairleadpodsstuck",
            ),
            Panel(
                "Scheduling attempts",
                _RATE,
                "fairlead decisions --controller scheduler",
                (("sum by (result) (rate(scheduler_schedule_attempts_total[5m]))", "{{result}}"),),
                "fairleadbindconflicts",
            ),
            Panel(
                "Scalings",
                _COUNT,
                "fairlead decisions --controller autoscaler",
                (
                    (
                        "sum by (direction) (increase(fairlead_autoscaler_scalings_total[10m]))",
                        "{{direction}}",
                    ),
                ),
                "fairleadscalesincircles",
            ),
        ),
    ),
    (
        "Objectives",
        (
            Panel(
                "Budget spent",
                _PERCENT,
                "kubectl get slo -A",
                (("fairlead_slo_budget_spent_ratio", "{{namespace}}/{{name}}"),),
                "fairleadobjectivemissed",
            ),
            Panel(
                "Burn rate",
                _COUNT,
                "kubectl get slo -A",
                (("fairlead_slo_burn_rate", "{{namespace}}/{{name}}"),),
                "fairleadbudgetburns",
            ),
            Panel(
                "Availability",
                _PERCENT,
                "fairlead progress KIND/NAME",
                (("fairlead_slo_availability_ratio", "{{namespace}}/{{name}}"),),
                "fairleadobjectivemissed",
            ),
        ),
    ),
    (
        "The API",
        (
            Panel(
                "Requests, slowest of a hundred",
                _SECONDS,
                "kubectl get --raw /metrics",
                (
                    (
                        "histogram_quantile(0.99, sum by (verb, le) "
                        "(rate(apiserver_request_duration_seconds_bucket[5m])))",
                        "{{verb}}",
                    ),
                ),
                "fairleadrequestsslow",
            ),
            Panel(
                "Requests",
                _RATE,
                "fairlead audit",
                (("sum by (code) (rate(apiserver_request_total[5m]))", "{{code}}"),),
                "fairleadrequestsfail",
            ),
            Panel(
                "Turned away",
                _RATE,
                "kubectl get flowschemas",
                (
                    (
                        "sum by (flow_schema) (rate(apiserver_flowcontrol_rejected_requests_total[5m]))",
                        "{{flow_schema}}",
                    ),
                ),
                "fairleadrequestsrejected",
            ),
            Panel(
                "Writes that wait for the disk",
                _COUNT,
                "fairlead check",
                (("fairlead_store_pending", "{{instance}}"),),
                "fairleadstoredoesnotwrite",
            ),
            Panel(
                "Watches that were cut",
                _RATE,
                "kubectl get --raw /metrics",
                (("rate(fairlead_watches_cut_total[5m])", "{{instance}}"),),
                "fairleadrequestsslow",
            ),
            Panel(
                "Connections that Services reset",
                _RATE,
                "fairlead progress KIND/NAME",
                (
                    (
                        "sum by (service, reason) (rate(fairlead_service_errors_total[5m]))",
                        "{{service}} {{reason}}",
                    ),
                ),
                "fairleadserviceerrors",
            ),
        ),
    ),
    (
        "Who is behind",
        (
            Panel(
                "Mirrors: age of what they lack",
                _SECONDS,
                "fairlead status",
                (("topk(10, fairlead_mirror_behind_seconds)", "{{resource}}"),),
                "fairleadmirrorlags",
            ),
            Panel(
                "Mirrors: revisions behind",
                _COUNT,
                "fairlead status",
                (("topk(10, fairlead_mirror_behind_revisions)", "{{resource}}"),),
                "fairleadmirrorlags",
            ),
            Panel(
                "Controllers: seconds behind",
                _SECONDS,
                "fairlead queues",
                (("topk(10, fairlead_controller_behind_seconds)", "{{controller}}"),),
                "fairleadcontrollerbehind",
            ),
            Panel(
                "Controllers: keys behind",
                _COUNT,
                "fairlead queues",
                (("topk(10, fairlead_controller_behind_keys)", "{{controller}}"),),
                "fairleadcontrollerbehind",
            ),
            Panel(
                "Statuses of an older generation",
                _COUNT,
                "fairlead decisions --object RESOURCE/NAMESPACE/NAME",
                (("topk(10, fairlead_generation_gap_objects)", "{{controller}}"),),
                "fairleadstatusstale",
            ),
            Panel(
                "How long pods stay at a stage, slowest of twenty",
                _SECONDS,
                "fairlead progress KIND/NAME",
                (
                    (
                        "histogram_quantile(0.95, sum by (stage, le) (rate(fairlead_pod_stage_seconds_bucket[10m])))",
                        "{{stage}}",
                    ),
                ),
                "fairleadpodsstuck",
            ),
        ),
    ),
    (
        "What goes wrong",
        (
            Panel(
                "Conflicts",
                _RATE,
                "fairlead decisions",
                (("sum by (controller) (rate(fairlead_controller_conflicts_total[5m]))", "{{controller}}"),),
                "fairleadbindconflicts",
            ),
            Panel(
                "Unknown outcomes",
                _RATE,
                "fairlead decisions",
                (("sum by (controller) (rate(fairlead_controller_unknown_total[5m]))", "{{controller}}"),),
                "fairleadbreakeropen",
            ),
            Panel(
                "Errors of controllers",
                _RATE,
                "fairlead queues",
                (("sum by (controller) (rate(fairlead_controller_raised_total[5m]))", "{{controller}}"),),
                "fairleadcontrollerraises",
            ),
            Panel(
                "Write loops, keys slowed down",
                _COUNT,
                "fairlead queues",
                (("fairlead_plane_write_loops", "loops"), ("sum(fairlead_queue_hot)", "hot keys")),
                "fairleadwriteloop",
            ),
            Panel(
                "Retries that wait for the budget",
                _COUNT,
                "fairlead queues",
                (("fairlead_plane_retries_waiting", "{{instance}}"),),
                "fairleadbreakeropen",
            ),
            Panel(
                "Agents: until the lease runs out",
                _SECONDS,
                "kubectl get nodes",
                (("fairlead_agent_lease_left_seconds", "{{instance}}"),),
                "fairleadnodeleaserunsout",
            ),
        ),
    ),
)


def dashboard() -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in ROWS:
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": title,
                "gridPos": {"x": 0, "y": y, "w": 24, "h": 1},
            }
        )
        y += 1
        for number, panel in enumerate(row):
            place = {
                "x": number % _PER_ROW * _WIDTH,
                "y": y + number // _PER_ROW * _HEIGHT,
                "w": _WIDTH,
                "h": _HEIGHT,
            }
            panels.append(_panel(panel, len(panels) + 1, place))
        y += (len(row) + _PER_ROW - 1) // _PER_ROW * _HEIGHT
    source = {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    return {
        "title": "Fairlead",
        "uid": "fairlead-plane",
        "tags": ["fairlead"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [source]},
        "panels": panels,
    }


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": f"The cause: `{panel.cause}`",
        "links": [
            {"title": "from the number to the cause", "url": f"{PAGE}#{panel.anchor}", "targetBlank": True}
        ],
        "datasource": source,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + at), "expr": expression, "legendFormat": legend, "datasource": source}
            for at, (expression, legend) in enumerate(panel.queries)
        ],
    }


def main(arguments: list[str]) -> int:
    text = json.dumps(dashboard(), indent=2) + "\n"
    if FILE.exists() and FILE.read_text() == text:
        return 0
    if "--check" in arguments:
        print("not current: monitoring/dashboard.json")
        return 1
    FILE.write_text(text)
    print("wrote: monitoring/dashboard.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
