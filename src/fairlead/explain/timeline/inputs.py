"""What those who could not go on were waiting for: quotas that refused them, autoscalers that act on them; when each
eased, by whom, and when whoever decides first knew of it.

The moment of knowing is that of the first decision whose view stood at the change or beyond. Called by `telling.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fairlead.core import codec
from fairlead.core.quantity import parse
from fairlead.explain.sources import Sources
from fairlead.explain.timeline.lines import AUDIT, Line
from fairlead.explain.timeline.moment import INPUT, OBSERVED, Moment, key_text, name_of
from fairlead.explain.timeline.values import told_changes
from fairlead.explain.timeline.writes import LoggedWrite, who_asked
from fairlead.model.key import Key
from fairlead.model.views import AUTOSCALERS, PLACEMENT_QUOTAS, RESOURCE_QUOTAS

Json = dict[str, Any]
_PLACEMENT = re.compile(r"quota/([a-z0-9.-]+): exceeded")
_RESOURCE = re.compile(r"exceeded quota: ([a-z0-9.-]+)")
QUOTAS = (RESOURCE_QUOTAS.name, PLACEMENT_QUOTAS.name)


def quotas_named(lines: Iterable[Line], namespace: str) -> set[Key]:
    """Those that refused anything."""
    found = set()
    for line in lines:
        if line.stream == AUDIT:
            continue
        texts = [each["reason"] for each in line.record.get("refusals") or ()]
        texts += [str(line.record.get(part, "")) for part in ("message", "trouble", "reason")]
        for text in texts:
            found |= {Key(PLACEMENT_QUOTAS.name, namespace, name) for name in _PLACEMENT.findall(text)}
            found |= {Key(RESOURCE_QUOTAS.name, namespace, name) for name in _RESOURCE.findall(text)}
    return found


def autoscalers_of(sources: Sources, namespace: str, workloads: Iterable[str]) -> set[Key]:
    """Those that are there, and say that they scale one of these."""
    wanted = {name_of(each) for each in workloads}
    found = set()
    for entry in sources.reader.list(AUTOSCALERS.name, namespace):
        target = (codec.decode(entry.data).get("spec") or {}).get("scaleTargetRef") or {}
        if f"{target.get('kind', '').lower()}/{target.get('name', '')}" in wanted:
            found.add(entry.key)
    return found


def eased(change: LoggedWrite, causes: Iterable[str]) -> Iterator[Moment]:
    """A change of a quota after which there is more room, or other limits. `causes`: what its decision was woken by."""
    if change.key.resource not in QUOTAS or change.line.record["code"] >= 400:
        return
    old, new, who = change.old or {}, change.new or {}, who_asked(change.line.record)
    told = told_changes(change.key.resource, old, new, "spec") if change.old is not None else ""
    if change.is_gone:
        told = "is removed"
    elif change.line.record["verb"] == "create":
        told = f"is created, {_amounts((new.get('spec') or {}).get('hard') or {})}"
    elif not told and change.is_known:
        told = _freed(old, new)
        freed_by = [name_of(each) for each in causes if "/" in each]
        if told and freed_by:
            told += f", because of {', '.join(freed_by)}"
    if told:
        yield Moment(change.line.at, who, INPUT, change.text, told, change.decision, change.line.revision)


def observed(changes: Sequence[Moment], lines: Iterable[Line]) -> Iterator[Moment]:
    """For each change of an input: the first decision whose view had it. Who is refused by the API reads no quota, but
    waits for it: then the first that was tried again."""
    decided = sorted((line for line in lines if line.stream != AUDIT), key=lambda each: each.at)
    seen: set[tuple[str, str]] = set()
    for change in sorted(changes, key=lambda each: each.at, reverse=True):
        for line in decided:
            used = (line.record.get("reads") or {}).get(change.about.partition("/")[0], (0, 0))[0]
            knows = used >= change.revision if used else _tries_again(line, change, decided)
            if line.at < change.at or "id" not in line.record or not knows:
                continue
            if (line.record["id"], change.about) not in seen:  # of several that it saw at once, the newest
                seen.add((line.record["id"], change.about))
                after = f"{line.at - change.at:.1f} s after it was written"
                stands = f"is in its view, which stands at {used}" if used else "wakes who waited for it"
                what = f"{stands}, {after} ({change.what})"
                yield Moment(
                    line.at, line.record["controller"], OBSERVED, change.about, what, line.record["id"]
                )
            break


def _tries_again(line: Line, change: Moment, decided: Iterable[Line]) -> bool:
    if line.record.get("held") or not line.record.get("effects"):
        return False
    name = change.about.rpartition("/")[2]
    return any(
        each.at < change.at and each.objects[0] == line.objects[0] and name in _RESOURCE.findall(_said(each))
        for each in decided
        if "of" in each.record
    )


def _said(line: Line) -> str:
    return str(line.record.get("trouble", ""))


def _freed(old: Json, new: Json) -> str:
    before, after = ((each.get("status") or {}).get("used") or {} for each in (old, new))
    fell = [
        f"used {name} {amount} -> {after.get(name, '0')}"
        for name, amount in before.items()
        if parse(after.get(name, "0")).nano < parse(amount).nano
    ]
    return ", ".join(fell)


def _amounts(hard: Json) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in hard.items())


def text_of(keys: Iterable[Key]) -> set[str]:
    return {key_text(each) for each in keys}
