"""What a Job's policies say: what a failed pod means, and when enough has succeeded.

    podFailurePolicy   the first rule that matches a failed pod: Count, Ignore, FailIndex, FailJob
    successPolicy      the first rule that is met ends the Job well

Called by `pods.py`, `indexes.py` and `status.py`; pure. The notation of index sets (`0,2-4`) is here too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.model.views import Job, Json, Pod


class Judgement(NamedTuple):
    """What the failure policy says of a pod; no action: nothing, it counts like any other."""

    action: str = ""
    message: str = ""


_COUNTS = Judgement()


def judge_failure(job: Job, pod: Pod) -> Judgement:
    """By the first rule that matches this failed pod."""
    for number, rule in enumerate(job.spec.pod_failure_policy.get("rules") or ()):
        why = _matched(rule, pod)
        if why:
            action = str(rule.get("action", ""))
            return Judgement(action, f"{why} matching {action} rule at index {number}")
    return _COUNTS


def _matched(rule: Json, pod: Pod) -> str:
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    codes = rule.get("onExitCodes")
    if codes is not None:
        for container in (*pod.status.container_statuses, *pod.status.init_container_statuses):
            if codes.get("containerName") in (None, container.get("name")):
                ended = (container.get("state") or {}).get("terminated") or {}
                code = ended.get("exitCode") or 0
                if code and (code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
                    return f"Container {container.get('name')} for pod {name} failed with exit code {code}"
        return ""
    for pattern in rule.get("onPodConditions") or ():
        for condition in pod.status.conditions:
            if (condition.type, condition.status) == (pattern.get("type"), pattern.get("status", "True")):
                return f"Pod {name} has condition {condition.type}"
    return ""


def success_of(job: Job, completed: frozenset[int]) -> str:
    """Which rule of the success policy is met, in words; "" if none is."""
    for number, rule in enumerate(job.spec.success_policy.get("rules") or ()):
        text = rule.get("succeededIndexes")
        wanted = completed if text is None else parse_indexes(text, job.spec.completions or 0)
        count = rule.get("succeededCount")
        if len(wanted & completed) >= (len(wanted) if count is None else count):
            return f"Matched rules at index {number}"
    return ""


def parse_indexes(text: str, below: int) -> frozenset[int]:
    """`0,2-4` as a set. Indexes that are no longer wanted are left out."""
    found: set[int] = set()
    for piece in text.split(",") if text else ():
        first, _, last = piece.partition("-")
        found.update(range(int(first), min(int(last or first) + 1, below)))
    return frozenset(found)


def format_indexes(indexes: Iterable[int]) -> str:
    """The shortest spelling; two in a row are a list, three are a range, as Kubernetes writes them."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(_run(first, last) for first, last in runs)


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
