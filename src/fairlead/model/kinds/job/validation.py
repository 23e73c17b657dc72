"""What a JobSpec may say, and what of it may change later.

Called by the Job descriptor and, for the part that templates of jobs share, by `model/kinds/cronjob.py`. Failure and
success policies are checked in `policies.py`.
"""

from __future__ import annotations

import re

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.job.policies import check_failure_policy, check_success_policy
from fairlead.model.kinds.pod.template import validate_pod_template
from fairlead.model.kinds.workload import check_counters, check_selection, check_unchanged, part, selects
from fairlead.model.names import name_problems
from fairlead.model.selectors import validate_label_selector

UID_LABEL = "batch.kubernetes.io/controller-uid"
UID_LABELS = (UID_LABEL, "controller-uid")
NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")

_PARALLELISM_MAX = 100_000
_FAILED_INDEXES_MAX = 100_000
# Above so many completions, retries per index are tracked for fewer indexes at once.
_COMPLETIONS_HIGH = 100_000
_HIGH_MAX = 10_000
_MANAGED_BY_MAX = 63
_URL_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_COUNTERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_IMMUTABLE = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
# What a suspended job that never started may still change in its template, for queues that place jobs.
_PLACEMENT = ("nodeSelector", "tolerations", "schedulingGates")


def validate_job(obj: Json, problems: Problems) -> None:
    metadata, spec = part(obj, "metadata"), part(obj, "spec")
    if not spec.get("manualSelector"):
        _check_generated(metadata, spec, problems)
    check_job_spec(spec, "spec", problems)
    selector = spec.get("selector")
    if selector is None:
        problems.required("spec.selector")
    else:
        validate_label_selector(selector, "spec.selector", problems)
        check_selection(spec, "spec", problems)
    _check_host_names(metadata.get("name") or "", spec, problems)


def _check_generated(metadata: Json, spec: Json, problems: Problems) -> None:
    """Selector and template labels are what the defaults would have written."""
    selector = spec.get("selector")
    if selector is None:
        return
    uid, name = metadata.get("uid") or "", metadata.get("name") or ""
    if not uid:
        problems.required("metadata.uid")
    expected = dict.fromkeys(UID_LABELS, uid) | dict.fromkeys(NAME_LABELS, name)
    labels = part(part(spec, "template"), "metadata").get("labels") or {}
    for key, value in expected.items():
        path = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            problems.required(path, f"must be '{value}'")
        elif labels[key] != value:
            problems.invalid(path, labels, f"must be '{value}'")
    if not selects(selector, expected):
        problems.invalid("spec.selector", selector, "`selector` not auto-generated")


def _check_host_names(name: str, spec: Json, problems: Problems) -> None:
    """Pods of an indexed job are called after it and their index, and that must be a host name."""
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0 and name:
        longest = f"{name}-{completions - 1}"
        if name_problems("label", longest):
            detail = f"will not able to create pod with invalid DNS label: {longest}"
            problems.invalid("metadata.name", name, detail)


def check_job_spec(spec: Json, path: str, problems: Problems) -> None:
    """All of a JobSpec but its selector."""
    check_counters(spec, _COUNTERS, path, problems)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        problems.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if spec.get("managedBy") is not None:
        _check_manager(spec["managedBy"], f"{path}.managedBy", problems)
    indexed = spec.get("completionMode") == "Indexed"
    if indexed:
        _check_indexed(spec, path, problems)
    else:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if spec.get(name) is not None:
                problems.invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
    if spec.get("podFailurePolicy") is not None:
        check_failure_policy(spec, f"{path}.podFailurePolicy", problems)
    if indexed and spec.get("successPolicy") is not None:
        check_success_policy(spec, f"{path}.successPolicy", problems)
    _check_replacement(spec, f"{path}.podReplacementPolicy", problems)
    validate_pod_template(part(spec, "template"), f"{path}.template", problems)
    _check_restarts(spec, f"{path}.template.spec.restartPolicy", problems)


def _check_manager(manager: str, path: str, problems: Problems) -> None:
    domain, slash, rest = manager.partition("/")
    if not domain or not slash or not rest:
        problems.invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        for text in name_problems("subdomain", domain):
            problems.invalid(path, domain, text)
        if not _URL_PATH.fullmatch(rest):
            detail = f"Invalid path (regex used for validation is '{_URL_PATH.pattern}')"
            problems.invalid(path, rest, detail)
    if len(manager) > _MANAGED_BY_MAX:
        problems.too_long(path, _MANAGED_BY_MAX)


def _check_indexed(spec: Json, path: str, problems: Problems) -> None:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed_max = spec.get("maxFailedIndexes")
    failed_path = f"{path}.maxFailedIndexes"
    if completions is None:
        problems.required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism > _PARALLELISM_MAX:
        detail = f"must be less than or equal to {_PARALLELISM_MAX} when completion mode is Indexed"
        problems.invalid(f"{path}.parallelism", parallelism, detail)
    if failed_max is not None:
        if completions is not None and failed_max > completions:
            problems.invalid(failed_path, failed_max, "must be less than or equal to completions")
        if failed_max > _FAILED_INDEXES_MAX:
            problems.invalid(failed_path, failed_max, f"must be less than or equal to {_FAILED_INDEXES_MAX}")
    if (completions or 0) <= _COMPLETIONS_HIGH or spec.get("backoffLimitPerIndex") is None:
        return
    detail = (
        f"must be less than or equal to {_HIGH_MAX} when completions are above {_COMPLETIONS_HIGH} "
        "and used with backoff limit per index"
    )
    if failed_max is None:
        problems.required(failed_path, f"must be specified when completions is above {_COMPLETIONS_HIGH}")
    elif failed_max > _HIGH_MAX:
        problems.invalid(failed_path, failed_max, detail)
    if parallelism > _HIGH_MAX:
        problems.invalid(f"{path}.parallelism", parallelism, detail)


def _check_replacement(spec: Json, path: str, problems: Problems) -> None:
    policy = spec.get("podReplacementPolicy")
    allowed = _REPLACEMENTS if spec.get("podFailurePolicy") is None else ("Failed",)
    if policy is not None and policy not in allowed:
        problems.unsupported(path, policy, allowed)


def _check_restarts(spec: Json, path: str, problems: Problems) -> None:
    policy = part(part(spec, "template"), "spec").get("restartPolicy")
    if policy in (None, "", "Always"):
        problems.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        problems.unsupported(path, policy, ("OnFailure", "Never"))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        problems.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def validate_job_update(new: Json, old: Json, problems: Problems) -> None:
    spec, before = part(new, "spec"), part(old, "spec")
    _check_completions(spec, before, problems)
    check_unchanged(spec, before, ("selector",), "spec", problems)
    template = spec.get("template")
    placeable = bool(before.get("suspend")) and not part(old, "status").get("startTime")
    if _frozen(template, placeable) != _frozen(before.get("template"), placeable):
        problems.invalid("spec.template", template, "field is immutable")
    check_unchanged(spec, before, _IMMUTABLE, "spec", problems)


def _check_completions(spec: Json, before: Json, problems: Problems) -> None:
    """Indexed jobs may grow and shrink, if completions and parallelism stay equal."""
    completions = spec.get("completions")
    if completions == before.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        problems.invalid("spec.completions", completions, "field is immutable")
    elif completions is not None and completions != spec.get("parallelism"):
        detail = "can only be modified in tandem with spec.parallelism"
        problems.invalid("spec.completions", completions, detail)


def _frozen(template: Json | None, placeable: bool) -> Json | None:
    """The part of a template that may not change; all of it once the job has started."""
    if not placeable or template is None:
        return template
    metadata, pod = part(template, "metadata"), part(template, "spec")
    affinity = {key: value for key, value in part(pod, "affinity").items() if key != "nodeAffinity"}
    kept = {key: value for key, value in pod.items() if key not in (*_PLACEMENT, "affinity")}
    names = {key: value for key, value in metadata.items() if key not in ("labels", "annotations")}
    return {"metadata": names, "spec": kept, "affinity": affinity}
