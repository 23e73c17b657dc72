"""What the kinds that own pods share: defaults and rules of selectors, templates, amounts and counters.

Called by the modules of Deployment, ReplicaSet, StatefulSet, DaemonSet, Job and, for amounts and counters, by
other kinds beside them. Pure functions over JSON trees; `path` is always the path of the tree that is passed.
Columns are in `workload_columns.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, cast

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.pod.template import default_pod_spec, validate_pod_template
from fairlead.model.selectors import matches_label_selector, validate_label_selector

NOT_NEGATIVE = "must be greater than or equal to 0"
_PERCENT = re.compile(r"[0-9]+%")
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def fill(tree: Json, name: str, value: Any) -> None:
    """Set a field that is absent or null."""
    if tree.get(name) is None:
        tree[name] = value


def choose(tree: Json, name: str, value: str) -> None:
    """Set a choice that is absent or empty: clients send an unset choice as an empty string."""
    if not tree.get(name):
        tree[name] = value


def part(tree: Json, name: str) -> Json:
    """An object below `tree`, or an empty one; not to be written to."""
    found = tree.get(name)
    return found if isinstance(found, dict) else {}


def ensure_object(tree: Json, name: str) -> Json:
    """An object below `tree`, created if absent or null."""
    found = tree.get(name)
    if found is None:
        found = tree[name] = {}
    return cast(Json, found)


def show_status(obj: Json, *counters: str) -> None:
    """Kubernetes shows a status from the first moment, with zeros that its type always has: clients count on it."""
    status = ensure_object(obj, "status")
    for counter in counters:
        fill(status, counter, 0)


def default_template(spec: Json) -> None:
    """Fill in `spec.template` as kube-apiserver fills in the template of any owner of pods."""
    default_pod_spec(ensure_object(ensure_object(spec, "template"), "spec"), template=True)


def check_counters(tree: Json, names: Iterable[str], path: str, problems: Problems) -> None:
    """Numbers that may be absent but not negative."""
    for name in names:
        value = tree.get(name)
        if value is not None and value < 0:
            problems.invalid(f"{path}.{name}", value, NOT_NEGATIVE)


def check_at_most(status: Json, names: Iterable[str], limit: str, words: str, problems: Problems) -> None:
    """Counters of `status` that may not exceed its counter `limit`; `words` is how the message names it."""
    most = status.get(limit) or 0
    for name in names:
        value = status.get(name) or 0
        if value > most:
            problems.invalid(f"status.{name}", value, f"cannot be greater than {words}")


def check_collisions(new: Json, old: Json, problems: Problems) -> None:
    """status.collisionCount only ever grows."""
    count, before = part(new, "status").get("collisionCount"), part(old, "status").get("collisionCount")
    if before is not None and (count or 0) < before:
        problems.invalid("status.collisionCount", count or 0, "cannot be decremented")


def check_unchanged(new: Json, old: Json, names: Iterable[str], path: str, problems: Problems) -> None:
    """Fields of two versions of one tree that must stay as they were."""
    for name in names:
        value = new.get(name)
        if value != old.get(name):
            problems.invalid(f"{path}.{name}", value, "field is immutable")


def keep_selector(new: Json, old: Json, problems: Problems) -> None:
    """What may change in an update: all but the selector."""
    check_unchanged(part(new, "spec"), part(old, "spec"), ("selector",), "spec", problems)


def replica_counts(
    counters: tuple[str, ...], within: tuple[str, ...], ready: str, *, collisions: bool = True
) -> Callable[[Json, Json, Problems], None]:
    """Validation of a status: no counter is negative, those `within` are at most all replicas, and what is available
    at most what is ready, which messages call `ready`."""

    def validate(new: Json, old: Json, problems: Problems) -> None:
        status = part(new, "status")
        check_counters(status, counters, "status", problems)
        check_at_most(status, within, "replicas", "status.replicas", problems)
        check_at_most(status, ("availableReplicas",), "readyReplicas", ready, problems)
        if collisions:
            check_collisions(new, old, problems)

    return validate


def amount(value: Any) -> int:
    """The number in an amount that is a count or a percentage; 0 for anything malformed."""
    if isinstance(value, int):
        return value
    # Cut first: int() refuses very long texts, and anything that long is far beyond 100 % anyway.
    return int(value[:-1][:18]) if isinstance(value, str) and _PERCENT.fullmatch(value) else 0


def check_amount(value: Any, path: str, problems: Problems) -> None:
    """A count or a percentage, not negative."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            problems.invalid(path, value, _PERCENT_RULE)
    elif value < 0:
        problems.invalid(path, value, NOT_NEGATIVE)


def check_at_most_all(value: Any, path: str, problems: Problems) -> None:
    """A percentage beyond the whole makes no sense here; counts may be any."""
    if isinstance(value, str) and amount(value) > 100:
        problems.invalid(path, value, "must not be greater than 100%")


def check_selector(spec: Json, owner: str, path: str, problems: Problems) -> None:
    """`spec.selector` is there, well-formed and selects something."""
    selector = spec.get("selector")
    if selector is None:
        problems.required(f"{path}.selector")
        return
    validate_label_selector(selector, f"{path}.selector", problems)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        problems.invalid(f"{path}.selector", selector, f"empty selector is invalid for {owner}")


def selects(selector: Json, labels: Json) -> bool:
    """Whether a selector finds these labels; a malformed one, reported elsewhere, counts as finding them."""
    try:
        return matches_label_selector(selector, labels)
    except ValueError:
        return True


def check_selection(spec: Json, path: str, problems: Problems) -> None:
    """The selector must find the pods that the template makes."""
    labels = part(part(spec, "template"), "metadata").get("labels") or {}
    if not selects(spec.get("selector") or {}, labels):
        detail = "`selector` does not match template `labels`"
        problems.invalid(f"{path}.template.metadata.labels", labels, detail)


def check_template(spec: Json, owner: str, path: str, problems: Problems) -> None:
    """The template of an owner that keeps its pods running: valid, always restarted, without a deadline."""
    template = part(spec, "template")
    validate_pod_template(template, f"{path}.template", problems)
    pod = part(template, "spec")
    policy = pod.get("restartPolicy")
    if policy != "Always":
        problems.unsupported(f"{path}.template.spec.restartPolicy", policy, ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        problems.forbidden(
            f"{path}.template.spec.activeDeadlineSeconds",
            f"activeDeadlineSeconds in {owner} is not Supported",
        )
