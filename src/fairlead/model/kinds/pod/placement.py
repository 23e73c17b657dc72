"""Validation of what decides where a pod may run: node selectors, affinity, tolerations, spread, gates.

Called by `validation.py` for pods and templates. Knows no node: whether a node fits is the scheduler's
work.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.metadata import validate_labels
from fairlead.model.selectors import validate_label_selector
from fairlead.model.verdicts import label_key_problems, label_value_problems, name_problems

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_placement(spec: Json, path: str, problems: Problems) -> None:
    """Everything about placement in a PodSpec."""
    if "nodeSelector" in spec:
        validate_labels(spec["nodeSelector"], f"{path}.nodeSelector", problems)
    if "affinity" in spec:
        _validate_affinity(spec["affinity"] or {}, f"{path}.affinity", problems)
    if "tolerations" in spec:
        validate_tolerations(spec["tolerations"] or [], f"{path}.tolerations", problems)
    if "topologySpreadConstraints" in spec:
        _validate_spread(spec["topologySpreadConstraints"] or [], path, problems)
    if "schedulingGates" in spec:
        _validate_gates(spec["schedulingGates"] or [], f"{path}.schedulingGates", problems)


def validate_tolerations(tolerations: list[Json], path: str, problems: Problems) -> None:
    for index, toleration in enumerate(tolerations):
        _validate_toleration(toleration, f"{path}[{index}]", problems)


def _validate_toleration(toleration: Json, path: str, problems: Problems) -> None:
    key = toleration.get("key")
    operator = toleration.get("operator")
    value = toleration.get("value")
    effect = toleration.get("effect")
    if key:
        for text in label_key_problems(key):
            problems.invalid(f"{path}.key", key, text)
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        problems.invalid(f"{path}.operator", operator or "", text)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        problems.invalid(f"{path}.effect", effect or "", text)
    if not operator or operator == "Equal":
        for text in label_value_problems(value or ""):
            problems.invalid(f"{path}.operator", value, text)
    elif value and operator == "Exists":
        problems.invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")


def _validate_spread(constraints: list[Json], path: str, problems: Problems) -> None:
    path = f"{path}.topologySpreadConstraints"
    seen: set[tuple[str | None, str]] = set()
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        key = constraint.get("topologyKey")
        action = constraint.get("whenUnsatisfiable") or ""
        if constraint.get("maxSkew", 0) <= 0:
            problems.invalid(f"{at}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
        _validate_topology_key(key, f"{at}.topologyKey", problems)
        if (key, action) in seen:
            problems.duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        seen.add((key, action))
        _validate_min_domains(constraint.get("minDomains"), action, f"{at}.minDomains", problems)
        validate_label_selector(constraint.get("labelSelector"), f"{at}.labelSelector", problems)
        _validate_match_label_keys(constraint, "matchLabelKeys", at, problems)


def _validate_min_domains(domains: int | None, action: str, path: str, problems: Problems) -> None:
    if domains is None:
        return
    if domains <= 0:
        problems.invalid(path, domains, "must be greater than zero")
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        problems.invalid(path, domains, text)


def _validate_match_label_keys(owner: Json, field: str, path: str, problems: Problems) -> None:
    keys = owner.get(field)
    if not keys:
        return
    selector = owner.get("labelSelector")
    if selector is None:
        problems.forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set")
        return
    named = set(selector.get("matchLabels") or ())
    named.update(expression.get("key") for expression in selector.get("matchExpressions") or ())
    for index, key in enumerate(keys):
        at = f"{path}.{field}[{index}]"
        for text in label_key_problems(key):
            problems.invalid(at, key, text)
        if key in named and field == "matchLabelKeys":
            problems.invalid(at, key, f"exists in both {field} and labelSelector")


def _validate_gates(gates: list[Json], path: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        for text in label_key_problems(name):
            problems.invalid(f"{path}[{index}]", name, text)
        if name in seen:
            problems.duplicate(f"{path}[{index}]", name)
        seen.add(name)


def _validate_affinity(affinity: Json, path: str, problems: Problems) -> None:
    node = affinity.get("nodeAffinity")
    if node:
        _validate_node_affinity(node, f"{path}.nodeAffinity", problems)
    for field in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(field)
        if not terms:
            continue
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            _validate_pod_term(term, f"{path}.{field}.{_REQUIRED}[{index}]", problems)
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            at = f"{path}.{field}.{_PREFERRED}[{index}]"
            _validate_weight(weighted, at, problems)
            _validate_pod_term(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm", problems)


def _validate_node_affinity(affinity: Json, path: str, problems: Problems) -> None:
    required = affinity.get(_REQUIRED)
    if required is not None:
        terms = required.get("nodeSelectorTerms")
        at = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        if not terms:
            problems.required(at, "must have at least one node selector term")
        for index, term in enumerate(terms or ()):
            _validate_node_term(term, f"{at}[{index}]", problems)
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        _validate_weight(weighted, at, problems)
        _validate_node_term(weighted.get("preference") or {}, f"{at}.preference", problems)


def _validate_weight(weighted: Json, path: str, problems: Problems) -> None:
    weight = weighted.get("weight", 0)
    if not 1 <= weight <= 100:
        problems.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_node_term(term: Json, path: str, problems: Problems) -> None:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        _validate_node_expression(expression, f"{path}.matchExpressions[{index}]", problems)
    for index, expression in enumerate(term.get("matchFields") or ()):
        _validate_node_field(expression, f"{path}.matchFields[{index}]", problems)


def _validate_node_expression(expression: Json, path: str, problems: Problems) -> None:
    operator = expression.get("operator")
    values = expression.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            problems.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            problems.forbidden(f"{path}.values", text)
    elif operator in ("Gt", "Lt") and len(values) != 1:
        text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        problems.required(f"{path}.values", text)
    key = expression.get("key") or ""
    for text in label_key_problems(key):
        problems.invalid(f"{path}.key", key, text)
    for index, value in enumerate(values):
        for text in label_value_problems(value):
            problems.invalid(f"{path}.values[{index}]", value, text)


def _validate_node_field(expression: Json, path: str, problems: Problems) -> None:
    operator = expression.get("operator")
    values = expression.get("values") or []
    if operator not in ("In", "NotIn"):
        problems.invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        problems.required(f"{path}.values", text)
    if expression.get("key") != "metadata.name":
        problems.invalid(f"{path}.key", expression.get("key"), "not a valid field selector key")
        return
    for index, value in enumerate(values):
        for text in name_problems("subdomain", value):
            problems.invalid(f"{path}.values[{index}]", value, text)


def _validate_pod_term(term: Json, path: str, problems: Problems) -> None:
    validate_label_selector(term.get("labelSelector"), f"{path}.labelSelector", problems)
    validate_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", problems)
    for namespace in term.get("namespaces") or ():
        for text in name_problems("label", namespace):
            problems.invalid(f"{path}.namespace", namespace, text)
    _validate_match_label_keys(term, "matchLabelKeys", path, problems)
    _validate_match_label_keys(term, "mismatchLabelKeys", path, problems)
    for key in term.get("matchLabelKeys") or ():
        if key in (term.get("mismatchLabelKeys") or ()):
            problems.invalid(
                f"{path}.matchLabelKeys", key, "exists in both matchLabelKeys and mismatchLabelKeys"
            )
    _validate_topology_key(term.get("topologyKey"), f"{path}.topologyKey", problems)


def _validate_topology_key(key: str | None, path: str, problems: Problems) -> None:
    if not key:
        if key is not None:
            problems.required(path, "can not be empty")
        return
    for text in label_key_problems(key):
        problems.invalid(path, key, text)
