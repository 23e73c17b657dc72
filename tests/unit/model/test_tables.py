"""The field tables hold what Kubernetes' types are, and malformed tables say where they are wrong."""

from __future__ import annotations

import pytest

from fairlead.model.fields import FieldTables, ListOf, MapOf, Ref, Scalar, Type
from fairlead.model.files import load_tables
from fairlead.model.tables import SCALARS, TableError, parse_tables
from tests.samples import SAMPLES

TABLES = load_tables()
REVIEWS = (
    *("LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectReview", "SelfSubjectRulesReview"),
    "SubjectAccessReview",
)
UNSTORED = (
    *("Binding", "DeleteOptions", "Eviction", "ListMeta", "ObjectMeta", "Scale", "Status", "TokenRequest"),
    "TokenReview",
    *REVIEWS,
)
OTHER_VERSIONS = ("HorizontalPodAutoscalerV1",)


def _inner(kind: Type) -> Scalar | Ref:
    while isinstance(kind, ListOf | MapOf):
        kind = kind.item if isinstance(kind, ListOf) else kind.value
    return kind


@pytest.mark.parametrize("name", [*SAMPLES, *UNSTORED, *OTHER_VERSIONS])
def test_every_kind_that_travels_has_a_table(name: str) -> None:
    assert TABLES[name].fields


# A schema holds schemas; it is read as JSON only, which is no deeper than `codec.DEPTH_MAX`.
WITHIN_ITSELF = "JSONSchemaProps"


def test_every_named_type_is_defined_and_every_scalar_is_known() -> None:
    for kind in TABLES.types.values():
        for field in kind.fields.values():
            inner = _inner(field.type)
            assert inner.name in (TABLES.types if isinstance(inner, Ref) else SCALARS), (
                kind.name,
                field.name,
            )


def test_every_type_is_reached_from_a_kind() -> None:
    seen: set[str] = set()
    pending = [*SAMPLES, *UNSTORED, *OTHER_VERSIONS]
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            inners = [_inner(field.type) for field in TABLES[name].fields.values()]
            pending += [inner.name for inner in inners if isinstance(inner, Ref)]
    assert seen == set(TABLES.types)


def test_merge_keys_and_map_keys_are_scalar_fields_of_the_items() -> None:
    for kind in TABLES.types.values():
        for field in kind.fields.values():
            for key in {*field.list_keys, field.merge_key} - {""}:
                assert isinstance(field.type, ListOf), (kind.name, field.name)
                assert isinstance(field.type.item, Ref), (kind.name, field.name)
                assert isinstance(TABLES[field.type.item.name].fields[key].type, Scalar), (
                    kind.name,
                    field.name,
                )


def test_no_two_fields_of_a_type_have_one_number() -> None:
    for kind in TABLES.types.values():
        numbers = [field.number for field in kind.fields.values() if field.number]
        assert len(numbers) == len(set(numbers)), kind.name
        assert not {number[:1] for number in numbers if len(number) == 2} & set(numbers), kind.name


def test_no_type_contains_itself_but_for_schemas() -> None:
    def walk(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, above
        for field in TABLES[name].fields.values():
            inner = _inner(field.type)
            if isinstance(inner, Ref) and inner.name != WITHIN_ITSELF:
                walk(inner.name, (*above, name))

    for name in SAMPLES:
        walk(name, ())


@pytest.mark.parametrize(
    ("path", "key", "strategy", "list_type", "list_keys"),
    [
        ("PodSpec.containers", "name", "merge", "map", "name"),
        ("PodSpec.initContainers", "name", "merge", "map", "name"),
        ("PodSpec.ephemeralContainers", "name", "merge", "map", "name"),
        ("PodSpec.volumes", "name", "merge,retainKeys", "map", "name"),
        ("PodSpec.resourceClaims", "name", "merge,retainKeys", "map", "name"),
        ("PodSpec.schedulingGates", "name", "merge", "map", "name"),
        ("PodSpec.imagePullSecrets", "name", "merge", "map", "name"),
        ("PodSpec.hostAliases", "ip", "merge", "map", "ip"),
        ("PodSpec.topologySpreadConstraints", "topologyKey", "merge", "map", "topologyKey,whenUnsatisfiable"),
        ("PodSpec.tolerations", "", "", "atomic", ""),
        ("Container.ports", "containerPort", "merge", "map", "containerPort,protocol"),
        ("Container.env", "name", "merge", "map", "name"),
        ("Container.volumeMounts", "mountPath", "merge", "map", "mountPath"),
        ("Container.volumeDevices", "devicePath", "merge", "map", "devicePath"),
        ("Container.args", "", "", "atomic", ""),
        ("ServiceSpec.ports", "port", "merge", "map", "port,protocol"),
        ("ServiceSpec.selector", "", "", "atomic", ""),
        ("ServiceAccount.secrets", "name", "merge", "map", "name"),
        ("ObjectMeta.ownerReferences", "uid", "merge", "map", "uid"),
        ("ObjectMeta.finalizers", "", "merge", "set", ""),
        ("NodeSpec.podCIDRs", "", "merge", "set", ""),
        ("NodeSpec.taints", "", "", "atomic", ""),
        ("NodeStatus.addresses", "type", "merge", "map", "type"),
        ("PodStatus.podIPs", "ip", "merge", "map", "ip"),
        ("PodStatus.conditions", "type", "merge", "map", "type"),
        ("JobStatus.conditions", "type", "merge", "atomic", ""),
        ("DeploymentSpec.strategy", "", "retainKeys", "", ""),
        ("PodDisruptionBudgetSpec.selector", "", "replace", "", ""),
    ],
)
def test_lists_merge_as_in_kubernetes(
    path: str, key: str, strategy: str, list_type: str, list_keys: str
) -> None:
    kind, _, name = path.partition(".")
    field = TABLES[kind].fields[name]
    assert field.merge_key == key
    assert ",".join(sorted(field.strategy)) == strategy
    assert field.list_type == list_type
    assert ",".join(field.list_keys) == list_keys


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("ContainerPort.containerPort", Scalar("int32")),
        ("PodSpec.terminationGracePeriodSeconds", Scalar("int64")),
        ("PodSpec.restartPolicy", Scalar("string", ("Always", "OnFailure", "Never"))),
        ("ResourceRequirements.limits", MapOf(Scalar("quantity"))),
        ("HTTPGetAction.port", Scalar("int-or-string")),
        ("Secret.data", MapOf(Scalar("bytes"))),
        ("Secret.stringData", MapOf(Scalar("string"))),
        ("ObjectMeta.creationTimestamp", Scalar("time")),
        ("LeaseSpec.renewTime", Scalar("microtime")),
        ("ServiceSpec.ipFamilies", ListOf(Scalar("string", ("IPv4", "IPv6")))),
        ("DaemonEndpoint.Port", Scalar("int32")),
        ("ManagedFieldsEntry.fieldsV1", MapOf(Scalar("any"))),
    ],
)
def test_fields_have_the_types_of_kubernetes(path: str, expected: Type) -> None:
    kind, _, name = path.partition(".")
    assert TABLES[kind].fields[name].type == expected


def test_types_know_the_name_under_which_clients_look_for_them() -> None:
    assert TABLES["Pod"].full_name == "io.k8s.api.core.v1.Pod"
    assert TABLES["ObjectMeta"].full_name == "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert TABLES["Eviction"].full_name == "io.k8s.api.policy.v1.Eviction"
    first = TABLES["HorizontalPodAutoscalerV1"]
    assert first.full_name == "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler"


@pytest.mark.parametrize(
    ("api_version", "kind", "name"),
    [
        ("autoscaling/v1", "HorizontalPodAutoscaler", "HorizontalPodAutoscalerV1"),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "HorizontalPodAutoscaler"),
        ("v1", "Pod", "Pod"),
        ("v1", "Unheard", ""),
    ],
)
def test_kinds_in_several_versions_are_told_apart(api_version: str, kind: str, name: str) -> None:
    assert TABLES.named(api_version, kind) == name


def test_a_table_reads_as_written() -> None:
    text = (
        "# comment\npackage p.v1\n\ntype A atomic  -- what A is\n  b [B]! merge=k map=k,l  -- what b is\n\n"
        "type B\n  k string? @1.2 enum=x|y default=x\n  l int32 @3\n"
    )
    tables: FieldTables = parse_tables([("a.tbl", text)])
    a, b = tables["A"], tables["B"].fields
    assert (a.full_name, a.atomic, a.description) == ("p.v1.A", True, "what A is")
    field = a.fields["b"]
    assert (field.type, field.required, field.merge_key) == (ListOf(Ref("B")), True, "k")
    assert (field.list_keys, field.description) == (("k", "l"), "what b is")
    assert (b["k"].type, b["k"].default, b["l"].required) == (Scalar("string", ("x", "y")), "x", False)
    assert (b["k"].zero, b["k"].number, b["l"].zero, b["l"].number) == (True, (1, 2), False, (3,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type A\n  b strin", "a.tbl:2: 'strin' is neither a scalar nor the name of a type"),
        ("type A\n  b [string", "a.tbl:2: '[string' is neither a scalar nor the name of a type"),
        ("type A\n  b Missing", "a.tbl:2: type Missing is not defined in any table"),
        ("type A\n  b", "a.tbl:2: expected `NAME TYPE [OPTIONS]`, found 'b'"),
        ("type A\n  b string\n  b string", "a.tbl:3: field b is listed twice in A"),
        ("type A\ntype A", "a.tbl:2: type A is defined twice"),
        ("type A\n  b string sometimes", "a.tbl:2: unknown option 'sometimes'"),
        ("type A\n  b string @x", "a.tbl:2: expected `@NUMBER` or `@NUMBER.NUMBER`, found '@x'"),
        ("type A\n  b string map=", "a.tbl:2: unknown option 'map='"),
        ("type A\n  b int32 enum=x", "a.tbl:2: only a string, or a list of them, can have an enum"),
        ("  b string", "a.tbl:1: a field before the first `type` line"),
        ("typ A", "a.tbl:1: expected `package NAME` or `type NAME [atomic] [as=NAME]`, found 'typ A'"),
        *(
            (text, f"a.tbl:1: expected `package NAME` or `type NAME [atomic] [as=NAME]`, found {text!r}")
            for text in ("type A odd", "type", "type A as=", "type A as=B as=C", "type A as=B atomic")
        ),
    ],
)
def test_a_malformed_table_names_file_and_line(text: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        parse_tables([("a.tbl", text)])
    assert str(caught.value) == message


# As generated.proto of admissionregistration has them (v1alpha1 in Kubernetes' sources; v1beta1 and v1 kept them).
MUTATING: dict[str, dict[str, int]] = {
    "MutatingAdmissionPolicySpec": {
        "paramKind": 1,
        "matchConstraints": 2,
        "variables": 3,
        "mutations": 4,
        "failurePolicy": 5,
        "matchConditions": 6,
        "reinvocationPolicy": 7,
    },
    "AdmissionMutation": {"patchType": 2, "applyConfiguration": 3, "jsonPatch": 4},
    "MutationApply": {"expression": 1},
    "MutationPatch": {"expression": 1},
    "MutatingAdmissionPolicyBindingSpec": {"policyName": 1, "paramRef": 2, "matchResources": 3},
    "MutatingAdmissionPolicy": {"metadata": 1, "spec": 2},
    "MutatingAdmissionPolicyBinding": {"metadata": 1, "spec": 2},
}


@pytest.mark.parametrize("name", MUTATING)
def test_kinds_of_mutating_policies_have_kubernetes_numbers(name: str) -> None:
    numbers = {field.name: field.number[-1] for field in TABLES[name].fields.values() if field.number}
    assert numbers == MUTATING[name]
