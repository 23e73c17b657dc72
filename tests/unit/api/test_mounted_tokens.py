"""Which pods find the token of their account mounted, where, and by what name."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.admission.service_account import TOKEN_PATH
from tests.inprocess import InProcess
from tests.unit.api.access.accounts import CONTAINER, CORE, account, pod, serving

MOUNT = {"name": "kube-api-access", "readOnly": True, "mountPath": TOKEN_PATH}


def mounts(made: Any, field: str = "containers") -> list[Any]:
    return [each.get("volumeMounts") for each in made["spec"][field]]


def test_a_pod_finds_token_certificate_and_namespace() -> None:
    plane = serving()
    account(plane)
    made = pod(plane, initContainers=[{"name": "first", "image": "x"}])
    (volume,) = made["spec"]["volumes"]
    sources = volume["projected"]["sources"]
    assert volume["name"] == "kube-api-access"
    assert [next(iter(each)) for each in sources] == ["serviceAccountToken", "configMap", "downwardAPI"]
    assert sources[0]["serviceAccountToken"] == {"expirationSeconds": 3607, "path": "token"}
    assert sources[1]["configMap"]["name"] == "kube-root-ca.crt"
    assert [mounts(made), mounts(made, "initContainers")] == [[[MOUNT]], [[MOUNT]]]


def test_without_the_step_nothing_is_mounted() -> None:
    plane = InProcess()
    assert "volumes" not in pod(plane)["spec"]


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [
        (None, None, True),
        (True, None, True),
        (False, None, False),
        (False, True, True),
        (None, False, False),
        (True, False, False),
        ("absent", None, True),
        ("absent", False, False),
    ],
)
def test_the_pod_decides_before_its_account(of_account: Any, of_pod: bool | None, mounted: bool) -> None:
    plane = serving()
    if of_account != "absent":
        account(plane, **({} if of_account is None else {"automountServiceAccountToken": of_account}))
    spec: dict[str, Any] = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
    made = pod(plane, **spec)
    assert bool(made["spec"].get("volumes")) is mounted
    assert mounts(made) == ([[MOUNT]] if mounted else [None])


def test_a_container_with_its_own_mount_there_keeps_it() -> None:
    plane = serving()
    own = {"name": "mine", "mountPath": TOKEN_PATH}
    containers = [{**CONTAINER, "volumeMounts": [own]}, {"name": "second", "image": "x"}]
    made = pod(plane, containers=containers, volumes=[{"name": "mine", "emptyDir": {}}])
    assert mounts(made) == [[own], [MOUNT]]
    assert [each["name"] for each in made["spec"]["volumes"]] == ["mine", "kube-api-access"]


def test_where_all_have_their_own_there_is_no_volume() -> None:
    containers = [{**CONTAINER, "volumeMounts": [{"name": "mine", "mountPath": TOKEN_PATH}]}]
    made = pod(serving(), containers=containers, volumes=[{"name": "mine", "emptyDir": {}}])
    assert [each["name"] for each in made["spec"]["volumes"]] == ["mine"]


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        (("kube-api-access",), "kube-api-access-0"),
        (("kube-api-access", "kube-api-access-0"), "kube-api-access-1"),
        (("kube-api-access-0",), "kube-api-access"),
    ],
)
def test_a_name_that_is_taken_is_left_to_its_owner(taken: tuple[str, ...], name: str) -> None:
    made = pod(serving(), volumes=[{"name": each, "emptyDir": {}} for each in taken])
    assert [each["name"] for each in made["spec"]["volumes"]] == [*taken, name]
    assert mounts(made) == [[{**MOUNT, "name": name}]]


def test_a_pod_like_one_before_follows_the_account_as_it_is_now() -> None:
    """What admission made of a spec is remembered; an account that changed is noticed all the same."""
    plane = serving()
    account(plane)
    seen = []
    for number, mount in enumerate((None, False, True, False)):
        if mount is not None:
            plane.patch(f"{CORE}/serviceaccounts/robot", {"automountServiceAccountToken": mount})
        twice = [pod(plane, f"web-{number}-{again}") for again in range(2)]
        seen.append([bool(each["spec"].get("volumes")) for each in twice])
    plane.delete(f"{CORE}/serviceaccounts/robot")
    seen.append([bool(pod(plane, "last")["spec"].get("volumes"))])
    assert seen == [[True, True], [False, False], [True, True], [False, False], [True]]


def test_accounts_of_one_name_in_two_namespaces_are_two() -> None:
    plane = serving()
    account(plane, automountServiceAccountToken=False)
    account(plane, space="kube-system")
    spec = {"serviceAccountName": "robot", "containers": [CONTAINER]}
    found = []
    for space in ("default", "kube-system"):
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}
        _, made = plane.post(f"/api/v1/namespaces/{space}/pods", body)
        found.append(bool(made["spec"].get("volumes")))
    assert found == [False, True]


def test_a_pod_that_names_no_account_runs_as_default() -> None:
    made = pod(serving(), runs_as="")
    assert (made["spec"]["serviceAccountName"], mounts(made)) == ("default", [[MOUNT]])
