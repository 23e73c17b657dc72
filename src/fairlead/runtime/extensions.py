"""Documents of our own beside Kubernetes': health, metrics, the audit log. Mounted on the wire by prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from fairlead.api import options
from fairlead.api.audit import audit_line
from fairlead.api.plan import Context
from fairlead.control.plane import Plane
from fairlead.core import codec
from fairlead.port.request import Reply
from fairlead.store.contract import Journal
from fairlead.store.machine import Phase, Store

AUDIT = "/fairlead/v1/audit"
DECISIONS = "/fairlead/v1/decisions"
QUEUES = "/fairlead/v1/queues"
_AUDIT_LINES_MAX = 1000
_TEXT = "text/plain; charset=utf-8"


def lines(journal: Journal, stream: str) -> Callable[[str, Mapping[str, str], Context], Reply]:
    """GET ...?after=SEQUENCE&limit=N: lines of a bounded log (audit, decisions), oldest first."""

    def answer(path: str, query: Mapping[str, str], context: Context) -> Reply:
        after = options.whole(query, "after") or 0
        limit = min(options.whole(query, "limit") or _AUDIT_LINES_MAX, _AUDIT_LINES_MAX)
        found = [audit_line(sequence, note) for sequence, _, note in journal.notes(stream, after, limit)]
        return Reply(200, b'{"items":[' + b",".join(found) + b"]}")

    return answer


def queues(plane: Plane, clock: Callable[[], float]) -> Callable[[str, Mapping[str, str], Context], Reply]:
    """GET /fairlead/v1/queues: each controller's queue at this moment."""

    def answer(path: str, query: Mapping[str, str], context: Context) -> Reply:
        items = [
            {
                "controller": controller.decider.name,
                "decided": controller.decided,
                "conflicts": controller.conflicts,
                "unknown": controller.unknown,
                "stuck": controller.stuck,
                "queue": controller.queue.snapshot(clock()),
            }
            for controller in plane.controllers
        ]
        body = {"leads": plane.leadership.leads, "phase": plane.leadership.phase.value, "items": items}
        return Reply(200, codec.encode(body))

    return answer


def health(store: Store) -> Callable[[str, Mapping[str, str], Context], Reply]:
    """/livez: the process answers. /readyz and /healthz: it also can write."""

    def answer(path: str, query: Mapping[str, str], context: Context) -> Reply:
        writing = store.phase not in (Phase.HALTED, Phase.REREADING)
        healthy = writing or path.startswith("/livez")
        lines = [
            "[+]ping ok",
            "[+]store ok" if writing else "[-]store failed: the journal does not take writes",
        ]
        name = path.split("/")[1]
        if healthy and "verbose" not in query:
            return Reply(200, b"ok", _TEXT)
        lines.append(f"{name} check {'passed' if healthy else 'failed'}")
        return Reply(200 if healthy else 503, "\n".join(lines).encode() + b"\n", _TEXT)

    return answer


class Sample(NamedTuple):
    """One number for /metrics."""

    name: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()


def metrics(read: Callable[[], Iterable[Sample]]) -> Callable[[str, Mapping[str, str], Context], Reply]:
    """/metrics in Prometheus' text form; a name that ends in _total is a counter, any other a gauge."""

    def answer(path: str, query: Mapping[str, str], context: Context) -> Reply:
        lines: list[str] = []
        announced = ""
        for name, value, labels in read():
            if name != announced:
                lines.append(f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}")
                announced = name
            told = ",".join(f'{key}="{text}"' for key, text in labels)
            number = int(value) if value == int(value) else value  # whole numbers with every digit
            lines.append(f"{name}{{{told}}} {number}" if told else f"{name} {number}")
        return Reply(200, "\n".join(lines).encode() + b"\n", "text/plain; version=0.0.4; charset=utf-8")

    return answer
