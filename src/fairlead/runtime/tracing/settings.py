"""Where traces go, from the command line or the variables that OpenTelemetry names. None: nowhere, at no cost.

| variable | what |
| --- | --- |
| OTEL_EXPORTER_OTLP_ENDPOINT | base address; /v1/traces is added, as to --otlp-endpoint |
| OTEL_EXPORTER_OTLP_TRACES_ENDPOINT | the whole address, of traces alone |
| OTEL_EXPORTER_OTLP_HEADERS | NAME=VALUE, ..., for the collector |
| OTEL_SERVICE_NAME | what the process is called |
| OTEL_TRACES_SAMPLER_ARG | the share of traces that begin here and are kept, 0 to 1 |
| OTEL_SDK_DISABLED | true: nowhere |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from fairlead.core.errors import UsageError

_PATH = "/v1/traces"


@dataclass(frozen=True, slots=True)
class TraceSettings:
    endpoint: str
    service: str = "fairlead"
    share: float = 1.0
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def base(self) -> str:
        """As `--otlp-endpoint` takes it."""
        return self.endpoint.removesuffix(_PATH)


def trace_settings(option: str | None, environment: Mapping[str, str], service: str) -> TraceSettings | None:
    """`option` goes before the environment. Raises UsageError with what is wrong."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" and not option:
        return None
    base = option or environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    whole = "" if option else environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
    endpoint = whole or (base.rstrip("/") + _PATH if base else "")
    if not endpoint:
        return None
    named = "--otlp-endpoint" if option else "OTEL_EXPORTER_OTLP_ENDPOINT"
    parts = urlsplit(endpoint)
    try:
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"{named} {option or base or whole}: name an address such as http://127.0.0.1:4318")
    return TraceSettings(
        endpoint=endpoint,
        service=environment.get("OTEL_SERVICE_NAME") or service,
        share=_share(environment.get("OTEL_TRACES_SAMPLER_ARG", "")),
        headers=_headers(environment.get("OTEL_EXPORTER_OTLP_HEADERS", "")),
    )


def _share(text: str) -> float:
    try:
        share = float(text or 1.0)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise UsageError(f"OTEL_TRACES_SAMPLER_ARG {text}: choose a share from 0 to 1")
    return share


def _headers(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (each.partition("=") for each in text.split(",") if each.strip())
    return tuple((name.strip(), unquote(value.strip())) for name, _, value in pairs if name.strip())
