"""What the API and the command line serve and say: kinds, admission, errors, reasons, events, metrics."""

from __future__ import annotations

from pathlib import Path

from fairlead.api.admission import SERVING_STEPS
from fairlead.cli.main import INTERRUPTED, PIPE_CLOSED
from fairlead.control.authority import warning_steps
from fairlead.core import errors
from fairlead.model import reasons
from fairlead.model.catalog import CATALOG
from fairlead.model.event_words import EVENT_WORDS
from fairlead.runtime.metrics.catalog import CATALOG as METRICS
from fairlead.runtime.server.serving import retention as kept_history
from fairlead.runtime.server.settings import ServeSettings
from fairlead.schedule.registry import PLUGINS
from generating.bounds import shown
from generating.tables import code, table


def kinds() -> str:
    heads = ("kind", "apiVersion", "resource", "short", "in a namespace", "subresources", "field selectors")
    rows = table(
        heads,
        (
            (
                kind.kind,
                f"`{kind.api_version}`",
                f"`{kind.plural}`",
                code(kind.short_names),
                "yes" if kind.namespaced else "no",
                code(kind.subresources),
                code(sorted(kind.selectable)),
            )
            for kind in CATALOG
        ),
    )
    single = [kind.plural for kind in CATALOG if not kind.deletecollection]
    return rows + (f"\nWithout deletecollection: {code(single)}.\n" if single else "")


def admission() -> str:
    rows = []
    for step in warning_steps(SERVING_STEPS):
        what = code(sorted(step.resources)) if step.resources else "all kinds"
        rows.append((step.name, f"{', '.join(sorted(step.verbs))} of {what}", step.does))
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


def retention() -> str:
    settings = ServeSettings(data_dir=Path(), listen="", port=0, banner=False)
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


def metrics() -> str:
    rows = (
        (
            f"`{each.metric.name}`",
            each.metric.type,
            code(each.metric.labels),
            ", ".join(each.told_by),
            each.metric.told,
        )
        for each in METRICS
    )
    return table(("metric", "type", "labels", "told by", "meaning"), rows)
