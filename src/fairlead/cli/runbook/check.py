"""`fairlead runbook check`: which runbooks have become stale.

Each is written again as a dry run: what the server would refuse now (kinds, fields, expressions) is stale. What people
read in it is judged here: a page that names a command, an option, a kind or a metric that is gone misleads whoever
follows it under pressure. Called by `verb.py`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import lru_cache
from typing import Any, NamedTuple

from fairlead.cli.client import ApiClient
from fairlead.cli.resources import resolve
from fairlead.core.errors import ApiError, FairleadError, UsageError

Json = dict[str, Any]
_BOOKS = "/apis/fairlead.dev/v1/runbooks"
_COMMAND = re.compile(r"(?<![\w/.-])fairlead ([a-z][a-z-]*)((?: [^\s;,()`]+)*)")
_KUBECTL = re.compile(r"(?<![\w/.-])kubectl (?:get|describe|edit|delete) ([a-z][a-z.]*)")
_METRIC = re.compile(r"(?<![\w/.-])fairlead_[a-z0-9_]+")
_SERIES = ("_bucket", "_count", "_sum")  # of a histogram
_TOLD = ("summary", "page", "description", "message", "question")  # fields that people read
_COMMANDS_KEPT = 64


class Known(NamedTuple):
    """What there is to be named. `helps(words)`: the help of a command, None if there is no such command."""

    helps: Callable[[tuple[str, ...]], str | None]
    is_kind: Callable[[str], bool]
    metrics: frozenset[str] | None  # None: this server does not tell them to everybody


def stale(client: ApiClient, books: Sequence[Json]) -> list[tuple[str, str]]:
    """Names and reasons."""
    known = Known(help_of, lambda word: _is_kind(client, word), _metrics(client))
    found = []
    for book in books:
        name = book["metadata"]["name"]
        whys = list(find_gone(book["spec"], known))
        body = {"apiVersion": book["apiVersion"], "kind": "Runbook", "spec": book["spec"]}
        try:
            client.post(_BOOKS, {**body, "metadata": {"generateName": f"{name}-"}}, {"dryRun": "All"})
        except ApiError as error:
            whys.insert(0, str(error))
        found += [(name, why) for why in whys]
    return found


def find_gone(spec: Json, known: Known) -> Iterator[str]:
    """What its texts name that is not there, with the path of the text."""
    for path, text in _texts(spec, "spec"):
        for verb, rest in _COMMAND.findall(text):
            why = _wrong_command(verb, rest.split(), known)
            if why:
                yield f"{path}: {why}"
        for word in _KUBECTL.findall(text):
            if not known.is_kind(word.rstrip(".")):
                yield f"{path}: kubectl knows no {word.rstrip('.')} here; name a kind that this API serves"
        for metric in _METRIC.findall(text):
            if known.metrics is not None and _series(metric, known.metrics) not in known.metrics:
                yield f"{path}: there is no metric {metric}; docs/reference/metrics.md has those there are"


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _texts(each, f"{path}[{number}]")
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in _TOLD and isinstance(each, str):
                yield f"{path}.{name}", each
            else:
                yield from _texts(each, f"{path}.{name}")


def _wrong_command(verb: str, words: list[str], known: Known) -> str:
    told = known.helps((verb,))
    if told is None:
        return f"there is no command fairlead {verb}; `fairlead --help` shows those there are"
    command = f"fairlead {verb}"
    if "ACTION ..." in told and words and re.fullmatch("[a-z-]+", words[0]):
        told = known.helps((verb, words[0]))
        if told is None:
            return f"{command} has no {words[0]}; `{command} --help` shows what it has"
        command += f" {words[0]}"
    for word in words:
        option = re.match("--[a-z][a-z-]*", word)
        if option is not None and not re.search(rf"{option[0]}(?![a-z-])", told):
            return f"{command} has no option {option[0]}; `{command} --help` shows those it has"
    return ""


@lru_cache(maxsize=_COMMANDS_KEPT)
def help_of(words: tuple[str, ...]) -> str | None:
    from fairlead.cli.main import VERBS, build_parser  # the other way round they would import each other

    if words[0] not in [each.name for each in VERBS]:
        return None
    told = io.StringIO()
    try:
        with redirect_stdout(told):
            build_parser(words[0]).parse_args([*words, "--help"])
    except SystemExit:
        return told.getvalue()
    except UsageError:
        return None
    return told.getvalue()


def _is_kind(client: ApiClient, word: str) -> bool:
    try:
        resolve(client, word)
    except UsageError:
        return False
    return True


def _metrics(client: ApiClient) -> frozenset[str] | None:
    try:
        status, text = client.text("/metrics")
    except FairleadError:
        return None
    return frozenset(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)) if status == 200 else None


def _series(metric: str, known: frozenset[str]) -> str:
    """The metric that a series is of."""
    ends = (each for each in _SERIES if metric.endswith(each) and metric.removesuffix(each) in known)
    return metric.removesuffix(next(ends, ""))
