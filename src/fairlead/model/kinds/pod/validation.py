"""Validation of a PodSpec as a whole; the parts live in the other files here.

`kind.py` calls it for pods and `template.py` for templates, with the path where the spec sits. The order is that of
Kubernetes: volumes, containers, the pod's own fields, placement. Types and enums are right when this runs.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.addresses import NOT_AN_ADDRESS, is_address
from fairlead.model.kinds.amounts import validate_amount
from fairlead.model.kinds.pod.containers import PodScope, validate_containers
from fairlead.model.kinds.pod.placement import validate_placement
from fairlead.model.kinds.pod.resources import validate_pod_resources
from fairlead.model.kinds.pod.security import validate_pod_security
from fairlead.model.kinds.pod.volumes import validate_volumes
from fairlead.model.verdicts import label_key_problems, name_problems

_NAMED = (
    ("serviceAccountName", "subdomain"),
    ("nodeName", "subdomain"),
    ("priorityClassName", "subdomain"),
    ("runtimeClassName", "subdomain"),
    ("hostname", "label"),
    ("subdomain", "label"),
)
_INT32_MAX = 2147483647


def validate_pod_spec(spec: Json, path: str, problems: Problems) -> None:
    """Every problem of the PodSpec at `path`."""
    volumes: set[str] = set()
    if "volumes" in spec:
        volumes = validate_volumes(spec["volumes"] or [], f"{path}.volumes", problems)
    claims: set[str] = set()
    if "resourceClaims" in spec:
        claims = _validate_claims(spec["resourceClaims"] or [], f"{path}.resourceClaims", problems)
    grace = spec.get("terminationGracePeriodSeconds", 30)
    scope = PodScope(volumes, claims, bool(spec.get("hostNetwork")), grace)
    validate_containers(spec, path, scope, problems)
    for field, rule in _NAMED:
        if field in spec:
            _validate_named(spec[field], rule, f"{path}.{field}", problems)
    dns = spec.get("dnsPolicy") or ""
    if dns == "None" or "dnsConfig" in spec:
        _validate_dns_config(spec.get("dnsConfig"), dns, f"{path}.dnsConfig", problems)
    if grace < 0:
        text = "must be greater than or equal to 0"
        problems.invalid(f"{path}.terminationGracePeriodSeconds", grace, text)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32_MAX:
        text = f"must be between 1 and {_INT32_MAX}, inclusive"
        problems.invalid(f"{path}.activeDeadlineSeconds", deadline, text)
    context = spec.get("securityContext")
    if context or spec.get("shareProcessNamespace"):
        validate_pod_security(context or {}, spec, f"{path}.securityContext", problems)
    validate_placement(spec, path, problems)
    _validate_rare(spec, path, problems)


def _validate_named(name: str | None, rule: str, path: str, problems: Problems) -> None:
    if name:
        for text in name_problems(rule, name):
            problems.invalid(path, name, text)


def _validate_dns_config(config: Json | None, policy: str, path: str, problems: Problems) -> None:
    if config is None:
        if policy == "None":
            problems.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        return
    servers = config.get("nameservers") or []
    if policy == "None" and not servers:
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        problems.required(f"{path}.nameservers", text)
    if len(servers) > 3:
        problems.invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers")
    for index, server in enumerate(servers):
        if not is_address(server):
            problems.invalid(f"{path}.nameservers[{index}]", server, NOT_AN_ADDRESS)
    searches = config.get("searches") or []
    if len(searches) > 32:
        problems.invalid(f"{path}.searches", searches, "must not have more than 32 search paths")
    for index, search in enumerate(searches):
        _validate_named(search.removesuffix("."), "subdomain", f"{path}.searches[{index}]", problems)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            problems.required(f"{path}.options[{index}]", "must not be empty")


def _validate_rare(spec: Json, path: str, problems: Problems) -> None:
    """Fields that few pods carry, looked at only when there."""
    if spec.get("resources"):
        validate_pod_resources(spec, path, problems)
    for name, quantity in (spec.get("overhead") or {}).items():
        validate_amount(quantity, f"{path}.overhead[{name}]", problems)
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType") or ""
        for text in label_key_problems(kind):
            problems.invalid(f"{path}.readinessGates[{index}].conditionType", kind, text)
    for alias in spec.get("hostAliases") or ():
        address = alias.get("ip") or ""
        if not is_address(address):
            problems.invalid(f"{path}.hostAliases.ip", address, NOT_AN_ADDRESS)
        for hostname in alias.get("hostnames") or ():
            _validate_named(hostname, "subdomain", f"{path}.hostAliases.hostnames", problems)


def _validate_claims(claims: list[Json], path: str, problems: Problems) -> set[str]:
    names: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        name = claim.get("name")
        if not name:
            problems.required(f"{at}.name")
        else:
            _validate_named(name, "label", f"{at}.name", problems)
            if name in names:
                problems.duplicate(f"{at}.name", name)
            names.add(name)
        given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field)]
        if len(given) != 1:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            if not given:
                text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            problems.invalid(at, claim, text)
    return names
