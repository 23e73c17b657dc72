"""Sends spans to a collector, from a thread of its own: OTLP over HTTP, as JSON.

Nobody waits for it. What does not fit into its queue, and what the collector does not take at the second attempt, is
dropped and counted. It never asks for anything of the process but the spans it was given.
"""

from __future__ import annotations

import http.client
import logging
import queue
import ssl
import threading
import time
from urllib.parse import urlsplit

import msgspec

from fairlead import __version__
from fairlead.runtime.tracing.contract import Span, otlp
from fairlead.runtime.tracing.settings import TraceSettings
from fairlead.runtime.tracing.tracer import Tracer

log = logging.getLogger("fairlead.tracing")

#: bound: plane | spans that wait to be sent to a collector | dropped, and counted
SPANS_WAITING_MAX = 8192
#: bound: plane | spans sent at once | the next batch
SPANS_TOGETHER_MAX = 512
#: bound: plane | a collector must take spans within | tried once more, then dropped
COLLECTOR_SECONDS = 10.0
_GATHER_SECONDS = 0.5
_REST_SECONDS = 1.0
_TAKEN = (200, 202)


def started_exporter(settings: TraceSettings | None) -> Exporter | None:
    """None where traces go nowhere."""
    if settings is None:
        return None
    exporter = Exporter(settings)
    exporter.start()
    return exporter


def tracer_of(exporter: Exporter | None, settings: TraceSettings | None) -> Tracer | None:
    return Tracer(exporter.export, settings.share) if exporter is not None and settings is not None else None


class Exporter:
    def __init__(self, settings: TraceSettings) -> None:
        self._settings = settings
        self._waiting: queue.Queue[Span | None] = queue.Queue(SPANS_WAITING_MAX)
        self._thread = threading.Thread(target=self._run, name="fairlead-traces", daemon=True)
        self._told_trouble = False
        self.sent = self.dropped = 0  # plain counts for metrics

    def start(self) -> None:
        self._thread.start()

    def export(self, span: Span) -> None:
        """Never waits."""
        try:
            self._waiting.put_nowait(span)
        except queue.Full:
            self.dropped += 1

    def stop(self, seconds: float = 2.0) -> None:
        """Send what waits, if that is soon done."""
        try:
            self._waiting.put(None, timeout=0.1)
        except queue.Full:
            return
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            spans, ends = self._gather()
            if spans:
                self._send(spans)
            if ends:
                return

    def _gather(self) -> tuple[list[Span], bool]:
        """Those that come within a moment of the first; and whether this is the end."""
        spans: list[Span] = []
        deadline = 0.0
        while len(spans) < SPANS_TOGETHER_MAX:
            left = deadline - time.monotonic() if spans else None
            try:
                span = self._waiting.get(timeout=None if left is None else max(0.0, left))
            except queue.Empty:
                break
            if span is None:
                return spans, True
            if not spans:
                deadline = time.monotonic() + _GATHER_SECONDS
            spans.append(span)
        return spans, False

    def _send(self, spans: list[Span]) -> None:
        resource = (("service.name", self._settings.service), ("service.version", __version__))
        body = msgspec.json.encode(otlp(spans, resource, __version__))
        trouble = self._post(body)
        if trouble:
            time.sleep(_REST_SECONDS)
            trouble = self._post(body)
        if trouble:
            self.dropped += len(spans)
            if not self._told_trouble:
                log.warning("traces are not taken by %s: %s", self._settings.endpoint, trouble)
        else:
            self.sent += len(spans)
        self._told_trouble = bool(trouble)

    def _post(self, body: bytes) -> str:
        """What went wrong; "" for nothing."""
        parts = urlsplit(self._settings.endpoint)
        host = parts.hostname or ""
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            tls = ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, parts.port, timeout=COLLECTOR_SECONDS, context=tls)
        else:
            connection = http.client.HTTPConnection(host, parts.port, timeout=COLLECTOR_SECONDS)
        headers = {"Content-Type": "application/json", **dict(self._settings.headers)}
        try:
            connection.request("POST", parts.path or "/", body, headers)
            answer = connection.getresponse()
            answer.read()
            return "" if answer.status in _TAKEN else f"it answers {answer.status}"
        except (OSError, http.client.HTTPException) as error:
            return str(error) or type(error).__name__
        finally:
            connection.close()
