"""What a run would measure now, through the API and with the rights of who asks: for dry runs and rehearsals.

Called by `dry_run.py` and `rehearse.py`; a run itself is measured by the server
(`runtime/server/run_meter.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fairlead.cli.client import ApiClient
from fairlead.core.errors import ApiError
from fairlead.model.kind import Json
from fairlead.model.runbooks.filling import fill_text
from fairlead.model.runbooks.measures import RECORDS_COUNTED_MAX, summary_of, value_of
from fairlead.model.runbooks.procedure import Procedure
from fairlead.model.runbooks.running import decided_about, labels_of

_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


def read_now(client: ApiClient, procedure: Procedure, places: Mapping[str, Any], now: float) -> Json:
    """By variable."""
    found: Json = {}
    if procedure.metrics:
        status, text = client.text("/metrics")
        if status != 200:
            raise ApiError(
                f"/metrics answers {status}: the runbook reads metrics, which takes the right to get it"
            )
        series = series_of(text, {each.metric for each in procedure.metrics})
        for each in procedure.metrics:
            found[each.name] = value_of(labels_of(each, places), series.get(each.metric, ()))
    for about in procedure.decisions:
        key = decided_about(about, places)
        name = "/".join(part for part in key if part)
        path = f"/fairlead/v1/decisions?object={quote(name, safe='/')}&limit={RECORDS_COUNTED_MAX}"
        records = [each["record"] for each in client.get(path)["items"]]
        controller = fill_text(about.controller, places)
        found[about.name] = summary_of(reversed(records), name, controller, now - about.within_seconds)
    return found


def series_of(text: str, wanted: set[str]) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Of Prometheus' text form, those of these names."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for name, labels, value in _LINE.findall(text):
        if name in wanted:
            given = {key: _ESCAPE.sub(_unescaped, each) for key, each in _LABEL.findall(labels)}
            found.setdefault(name, []).append((given, float(value)))
    return found


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]
