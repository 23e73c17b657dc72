"""`kubectl get` in every form of output, over one or several kinds."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.clients.kubectl import Operator, columns, table
from tests.clients.manifests import config, workload


@pytest.fixture(scope="module")
def shop(kubectl: Operator) -> Operator:
    kubectl("create namespace shop")
    shop = kubectl.inside("shop")
    shop(
        "create -f -",
        [
            config("pear", {"rank": "1"}, labels={"colour": "green"}),
            config("apple", {"rank": "3", "note": "ripe"}, labels={"colour": "red", "big": "yes"}),
            config("fig", {"rank": "2"}),
            workload("Deployment", "web", replicas=2),
        ],
    )
    return shop


def test_the_table_is_ordered_by_name(shop: Operator) -> None:
    assert table(shop("get cm")) == [
        {"NAME": "apple", "DATA": "2", "AGE": "AGE"},
        {"NAME": "fig", "DATA": "1", "AGE": "AGE"},
        {"NAME": "pear", "DATA": "1", "AGE": "AGE"},
    ]


def test_one_object_as_yaml_and_as_json_are_the_same(shop: Operator) -> None:
    as_yaml = yaml.safe_load(shop("get cm apple -o yaml"))
    assert as_yaml == json.loads(shop("get cm apple -o json"))
    metadata = as_yaml.pop("metadata")
    assert as_yaml == {"apiVersion": "v1", "kind": "ConfigMap", "data": {"rank": "3", "note": "ripe"}}
    assert set(metadata) == {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "labels"}


def test_several_objects_are_a_list(shop: Operator) -> None:
    found = json.loads(shop("get cm -o json"))
    assert (found["kind"], found["apiVersion"]) == ("List", "v1")
    assert [(item["kind"], item["metadata"]["name"]) for item in found["items"]] == [
        ("ConfigMap", "apple"),
        ("ConfigMap", "fig"),
        ("ConfigMap", "pear"),
    ]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("name", "configmap/apple\nconfigmap/fig\nconfigmap/pear\n"),
        ("jsonpath='{.items[*].data.rank}'", "3 2 1"),
        ("jsonpath='{range .items[*]}{.metadata.name}={.data.rank};{end}'", "apple=3;fig=2;pear=1;"),
        ("jsonpath='{.items[?(@.data.note==\"ripe\")].metadata.name}'", "apple"),
        ("jsonpath-as-json='{.items[*].data.rank}'", '[\n    "3",\n    "2",\n    "1"\n]\n'),
        ("go-template='{{range .items}}{{.metadata.name}},{{end}}'", "apple,fig,pear,"),
        ("custom-columns=FRUIT:.metadata.name,NOTE:.data.note",
         "FRUIT   NOTE\napple   ripe\nfig     <none>\npear    <none>\n"),
    ],
)  # fmt: skip
def test_output_forms(shop: Operator, form: str, expected: str) -> None:
    assert shop(f"get cm -o {form}") == expected


def test_labels_as_a_last_column_and_as_columns_of_their_own(shop: Operator) -> None:
    shown = {row["NAME"]: row["LABELS"] for row in table(shop("get cm --show-labels"))}
    assert shown == {"apple": "big=yes,colour=red", "fig": "<none>", "pear": "colour=green"}
    labelled = {row["NAME"]: (row["COLOUR"], row["BIG"]) for row in table(shop("get cm -L colour,big"))}
    assert labelled == {"apple": ("red", "yes"), "fig": ("", ""), "pear": ("green", "")}


def test_sorting_and_leaving_the_headings_out(shop: Operator) -> None:
    assert [row["NAME"] for row in table(shop("get cm --sort-by=.data.rank"))] == ["pear", "fig", "apple"]
    lines = shop("get cm --no-headers").splitlines()
    assert [line.split()[0] for line in lines] == ["apple", "fig", "pear"]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("-l colour=red", ["apple"]),
        ("-l colour", ["apple", "pear"]),
        ("-l '!colour'", ["fig"]),
        ("-l 'colour in (green,blue)'", ["pear"]),
        ("-l 'colour notin (green)'", ["apple", "fig"]),
        ("-l colour!=red", ["fig", "pear"]),
        ("-l colour=red,big=no", []),
        ("--field-selector metadata.name=fig", ["fig"]),
        ("--field-selector metadata.name!=fig -l colour", ["apple", "pear"]),
    ],
)
def test_selectors(shop: Operator, selector: str, names: list[str]) -> None:
    done = shop.run(f"get cm --no-headers -o custom-columns=N:.metadata.name {selector}")
    assert (done.code, done.out.split()) == (0, names)


def test_selectors_that_make_no_sense_are_refused_with_the_reason(shop: Operator) -> None:
    said = shop.refused("get cm --field-selector data.rank=1")
    assert said.startswith("Error from server (BadRequest): ")
    assert "field label not supported: data.rank; " in said
    assert "unable to parse requirement" in shop.refused("get cm -l 'colour in (red'")


def test_several_kinds_each_get_a_table_and_names_with_their_kind(shop: Operator) -> None:
    configs, deployments = shop("get cm,deploy").split("\n\n")
    assert [row["NAME"] for row in table(configs)] == ["configmap/apple", "configmap/fig", "configmap/pear"]
    assert table(deployments) == [
        {"NAME": "deployment.apps/web", "READY": "0/2", "UP-TO-DATE": "0", "AVAILABLE": "0", "AGE": "AGE"}
    ]
    assert shop("get cm/fig deploy/web -o name") == "configmap/fig\ndeployment.apps/web\n"
    assert shop("get all -o name") == "deployment.apps/web\n"


def test_kinds_answer_to_short_singular_and_qualified_names(shop: Operator) -> None:
    for name in (
        "deploy",
        "deployment",
        "Deployment",
        "deployments",
        "deployments.apps",
        "deployments.v1.apps",
    ):
        assert shop(f"get {name} -o name") == "deployment.apps/web\n"


def test_all_namespaces_add_a_column(shop: Operator) -> None:
    assert {"NAMESPACE": "shop", "NAME": "fig", "DATA": "1", "AGE": "AGE"} in table(shop("get cm -A"))


def test_without_server_side_tables_kubectl_still_finds_name_and_age(shop: Operator) -> None:
    assert columns(shop("get deploy --server-print=false")) == ["NAME", "AGE"]


def test_what_is_not_there(shop: Operator) -> None:
    assert shop.run("get pods") == (0, "", "No resources found in shop namespace.\n")
    assert shop.run("get pods -A") == (0, "", "No resources found\n")
    assert shop.refused("get cm plum") == 'Error from server (NotFound): configmaps "plum" not found\n'
    assert shop("get cm plum --ignore-not-found") == ""
    assert shop.refused("get plums") == 'error: the server doesn\'t have a resource type "plums"\n'
    some = shop.run("get cm fig plum -o name")
    assert some == (1, "configmap/fig\n", 'Error from server (NotFound): configmaps "plum" not found\n')


def test_raw_paths(shop: Operator) -> None:
    path = "/api/v1/namespaces/shop/configmaps"
    assert json.loads(shop(f"get --raw {path}/fig"))["data"] == {"rank": "2"}
    made = json.loads(shop(f"create --raw {path} -f -", '{"metadata":{"name":"raw"},"data":{"a":"b"}}'))
    assert (made["kind"], made["metadata"]["namespace"]) == ("ConfigMap", "shop")
    replaced = shop(f"replace --raw {path}/raw -f -", '{"metadata":{"name":"raw"},"data":{"a":"c"}}')
    assert json.loads(replaced)["data"] == {"a": "c"}
    assert json.loads(shop(f"delete --raw {path}/raw"))["status"] == "Success"
    assert shop("get --raw /readyz") == "ok"
    assert shop.refused("get --raw /nosuch").startswith("Error from server (NotFound): ")


def test_everything_about_the_cluster_is_dumped_to_its_end(shop: Operator) -> None:
    """kubectl asks for kinds by name, served or not, and stops at the first that it does not get."""
    found = shop("cluster-info dump --namespaces shop")
    kinds = [json.loads(part)["kind"] for part in found.replace("}\n{", "}\0{").split("\0")]
    assert kinds[-2:] == ["ReplicaSetList", "PodList"]
