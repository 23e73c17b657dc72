"""CustomResourceDefinition (apiextensions.k8s.io/v1): a kind of objects that users bring, served like built-in ones.

Read by `model/catalog.py`. Here is what a definition may say; schemas are judged by `model/custom/judging.py`. Its
status is settled by `api/admission/definitions.py` in the transaction of each write, and what it defines is made by
`model/custom/kinds.py`.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import UNKNOWN
from fairlead.model.custom.columns import COLUMN_FORMATS, COLUMN_TYPES
from fairlead.model.custom.definition import ESTABLISHED, is_true
from fairlead.model.custom.jsonpath import JsonPath, PathError, simple_path
from fairlead.model.custom.judging import check_schema
from fairlead.model.custom.rule_costs import check_costs
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part
from fairlead.model.metadata import validate_immutable
from fairlead.model.names import label1035_problems, subdomain_problems

#: bound: objects | versions of one | 422
VERSIONS_MAX = 32
#: bound: objects | columns of a version | 422
COLUMNS_MAX = 64
#: bound: objects | selectable fields of a version | 422
SELECTABLE_FIELDS_MAX = 8
_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_SELECTABLE_TYPES = ("string", "boolean", "integer")


def _defaults(definition: Json) -> None:
    spec = part(definition, "spec")
    names = part(spec, "names")
    kind = names.get("kind")
    if kind:
        if not names.get("singular"):
            names["singular"] = kind.lower()
        if not names.get("listKind"):
            names["listKind"] = f"{kind}List"
    conversion = spec.setdefault("conversion", {})
    if not conversion.get("strategy"):
        conversion["strategy"] = "None"
    for version in spec.get("versions") or ():
        version.setdefault("served", False)
        version.setdefault("storage", False)


def _validate(definition: Json, problems: Problems) -> None:
    spec = part(definition, "spec")
    group, names = spec.get("group") or "", part(spec, "names")
    wanted = f"{names.get('plural') or ''}.{group}"
    name = part(definition, "metadata").get("name")
    if name != wanted:
        problems.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    _validate_group(definition, group, problems)
    if not spec.get("scope"):
        problems.required("spec.scope")
    _validate_names(names, problems)
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        problems.invalid("spec.preserveUnknownFields", True, text)
    strategy = part(spec, "conversion").get("strategy")
    if strategy == "Webhook":
        text = "conversion webhooks are not supported here; use None, with one schema for all versions"
        problems.forbidden("spec.conversion.strategy", text)
    elif strategy != "None":
        problems.unsupported("spec.conversion.strategy", strategy, ("None", "Webhook"))
    elif part(spec, "conversion").get("webhook") is not None:
        text = 'should not be set when strategy is not set to "Webhook"'
        problems.forbidden("spec.conversion.webhook", text)
    _validate_versions(spec.get("versions") or [], problems)


def _validate_group(definition: Json, group: str, problems: Problems) -> None:
    if not group:
        problems.required("spec.group")
        return
    wrong = subdomain_problems(group)
    if wrong:
        problems.invalid("spec.group", group, ",".join(wrong))
    elif "." not in group:
        problems.invalid("spec.group", group, "should be a domain with at least one dot")
    approved = (part(definition, "metadata").get("annotations") or {}).get(_APPROVAL)
    if any(group == each or group.endswith(f".{each}") for each in _PROTECTED) and not approved:
        text = f'protected groups must have approval annotation "{_APPROVAL}", see '
        link = "https://github.com/kubernetes/enhancements/pull/1111"
        problems.required(f"metadata.annotations[{_APPROVAL}]", text + link)


def _validate_names(names: Json, problems: Problems) -> None:
    for field in ("plural", "singular", "kind", "listKind"):
        value = names.get(field) or ""
        at, mixed = f"spec.names.{field}", field in ("kind", "listKind")
        if not value:
            problems.required(at)
            continue
        wrong = label1035_problems(value.lower() if mixed else value)
        if wrong:
            prefix = "may have mixed case, but should otherwise match: " if mixed else ""
            problems.invalid(at, value, prefix + ",".join(wrong))
    for field in ("shortNames", "categories"):
        for index, value in enumerate(names.get(field) or ()):
            wrong = label1035_problems(value)
            if wrong:
                problems.invalid(f"spec.names.{field}[{index}]", value, ",".join(wrong))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        problems.invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")


def _validate_versions(versions: list[Json], problems: Problems) -> None:
    if len(versions) > VERSIONS_MAX:
        problems.too_many("spec.versions", len(versions), VERSIONS_MAX)
        return
    names = [each.get("name") or "" for each in versions]
    if len(set(names)) != len(names):
        problems.invalid("spec.versions", names, "must contain unique version names")
    if sum(bool(each.get("storage")) for each in versions) != 1:
        problems.invalid("spec.versions", names, "must have exactly one version marked as storage version")
    if not any(each.get("served") for each in versions) and not versions:
        problems.required("spec.versions")
    for index, version in enumerate(versions):
        _validate_version(version, f"spec.versions[{index}]", problems)


def _validate_version(version: Json, at: str, problems: Problems) -> None:
    wrong = label1035_problems(version.get("name") or "")
    if wrong:
        problems.invalid(f"{at}.name", version.get("name") or "", ",".join(wrong))
    warning = version.get("deprecationWarning")
    if warning is not None:
        if not version.get("deprecated"):
            problems.invalid(f"{at}.deprecationWarning", warning, "can only be set for deprecated versions")
        elif not warning or len(warning.encode()) > 256 or not warning.isprintable():
            text = "must be between 1 and 256 bytes of printable text"
            problems.invalid(f"{at}.deprecationWarning", warning, text)
    schema = part(version, "schema").get("openAPIV3Schema")
    if schema is None:
        problems.required(f"{at}.schema.openAPIV3Schema", "schemas are required")
        schema = {}
    else:
        check_schema(schema, f"{at}.schema.openAPIV3Schema", problems)
    _validate_scale(part(version, "subresources").get("scale"), f"{at}.subresources.scale", problems)
    _validate_columns(
        version.get("additionalPrinterColumns") or [], f"{at}.additionalPrinterColumns", problems
    )
    _validate_selectable(schema, version.get("selectableFields") or [], f"{at}.selectableFields", problems)


def _validate_scale(scale: Json | None, at: str, problems: Problems) -> None:
    if scale is None:
        return
    for field, begins in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        path = scale.get(field) or ""
        if not path:
            if field != "labelSelectorPath":
                problems.required(f"{at}.{field}")
            continue
        try:
            simple_path(path)
        except PathError as error:
            problems.invalid(f"{at}.{field}", path, str(error))
            continue
        if not path.startswith(begins):
            wanted = " or ".join(begins)
            problems.invalid(f"{at}.{field}", path, f"should be a json path under {wanted.rstrip('.')}")


def _validate_columns(columns: list[Json], at: str, problems: Problems) -> None:
    if len(columns) > COLUMNS_MAX:
        problems.too_many(at, len(columns), COLUMNS_MAX)
        return
    for index, column in enumerate(columns):
        where = f"{at}[{index}]"
        if not column.get("name"):
            problems.required(f"{where}.name")
        if column.get("type") not in COLUMN_TYPES:
            wanted = f"must be one of {','.join(sorted(COLUMN_TYPES))}"
            problems.invalid(f"{where}.type", column.get("type") or "", wanted)
        if column.get("format") and column["format"] not in COLUMN_FORMATS:
            wanted = f"must be one of {','.join(sorted(COLUMN_FORMATS))}"
            problems.invalid(f"{where}.format", column["format"], wanted)
        path = column.get("jsonPath") or ""
        if not path:
            problems.required(f"{where}.jsonPath")
            continue
        try:
            JsonPath(path)
        except PathError as error:
            problems.invalid(f"{where}.jsonPath", path, str(error))


def _validate_selectable(schema: Json, fields: list[Json], at: str, problems: Problems) -> None:
    if len(fields) > SELECTABLE_FIELDS_MAX:
        problems.too_many(at, len(fields), SELECTABLE_FIELDS_MAX)
        return
    seen: set[str] = set()
    for index, field in enumerate(fields):
        path, where = field.get("jsonPath") or "", f"{at}[{index}].jsonPath"
        if not path:
            problems.required(where)
            continue
        if path in seen:
            problems.duplicate(where, path)
        seen.add(path)
        try:
            names = simple_path(path)
        except PathError as error:
            problems.invalid(where, path, f"is an invalid path: {error}")
            continue
        if names[0] == "metadata":
            problems.invalid(where, path, "must not point to fields in metadata")
            continue
        found = schema
        for name in names:
            found = (found.get("properties") or {}).get(name) or {}
        if found.get("type") not in _SELECTABLE_TYPES:
            text = (
                "is an invalid path: must point to a field of type string, boolean or integer of the schema"
            )
            problems.invalid(where, path, text)


def _check_costs(new: Json, old: Json | None, problems: Problems) -> None:
    """Of schemas that are new: what is stored was judged when it came there."""
    before = [part(each, "schema") for each in part(old or {}, "spec").get("versions") or ()]
    for index, version in enumerate(part(new, "spec").get("versions") or ()):
        schema = part(version, "schema")
        if schema.get("openAPIV3Schema") and schema not in before:
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            check_costs(schema["openAPIV3Schema"], path, problems)


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    spec, before = part(new, "spec"), part(old, "spec")
    if is_true(old, ESTABLISHED):
        validate_immutable(spec.get("scope"), before.get("scope"), "spec.scope", problems)
        kinds = part(spec, "names").get("kind"), part(before, "names").get("kind")
        validate_immutable(*kinds, "spec.names.kind", problems)
    validate_immutable(spec.get("group"), before.get("group"), "spec.group", problems)
    plurals = part(spec, "names").get("plural"), part(before, "names").get("plural")
    validate_immutable(*plurals, "spec.names.plural", problems)
    names = {each.get("name") for each in spec.get("versions") or ()}
    for index, stored in enumerate(part(new, "status").get("storedVersions") or ()):
        if stored not in names:
            text = "must appear in spec.versions"
            problems.invalid(f"status.storedVersions[{index}]", stored, text)


def _created_at(definition: Json, now: float) -> Cell:
    created: str = part(definition, "metadata").get("creationTimestamp") or UNKNOWN
    return created


KIND = Kind(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
    schema="CustomResourceDefinition",
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=("status",),
    status_metadata=(),
    columns=(Column("Created At", _created_at, "date", description="When the definition was made."),),
    shows_deleted=True,
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    rules=_check_costs,
)
