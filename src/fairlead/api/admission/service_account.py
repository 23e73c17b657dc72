"""Pods that name no service account run as `default`, as clients expect to read back, and find its token mounted.

The volume is Kubernetes' own: a token that is renewed, the certificate by which to know the API, and the namespace, at
TOKEN_PATH in every container that has nothing else there. Not where the pod or its account says
`automountServiceAccountToken: false`. An account that does not exist is no reason to refuse: the node waits for it, and
says so in the pod's status. Where no server has an authority of its own, as in the simulator, nothing is mounted: the
chain there is without MOUNT_STEP.
"""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import tree
from fairlead.model.key import Key
from fairlead.model.kind import Json

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
ACCOUNTS = "serviceaccounts"
_VOLUME = "kube-api-access"
_TOKEN_SECONDS = 3607  # as Kubernetes has it, by which its own volumes are told from others
_MODE = 0o644


def _admit(attempt: Attempt) -> None:
    assert attempt.new is not None
    spec = attempt.new["spec"]
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name


def _mount(attempt: Attempt) -> None:
    assert attempt.new is not None
    spec: Json = attempt.new["spec"]
    if not _is_wanted(attempt, spec):
        return
    containers = [each for field in ("initContainers", "containers") for each in spec.get(field) or ()]
    lacking = [each for each in containers if not _has_its_own(each)]
    if not lacking:
        return
    taken = {each.get("name") for each in spec.get("volumes") or ()}
    name = next(
        each for each in (_VOLUME, *(f"{_VOLUME}-{n}" for n in range(len(taken)))) if each not in taken
    )
    spec["volumes"] = [*(spec.get("volumes") or ()), _volume(name)]
    for container in lacking:
        mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def _is_wanted(attempt: Attempt, spec: Json) -> bool:
    asked = spec.get("automountServiceAccountToken")
    if asked is not None:
        return bool(asked)
    entry = attempt.read.get(Key(ACCOUNTS, attempt.key.namespace, spec["serviceAccountName"]))
    return entry is None or tree(entry).get("automountServiceAccountToken") is not False


def _has_its_own(container: Json) -> bool:
    return any(each.get("mountPath") == TOKEN_PATH for each in container.get("volumeMounts") or ())


def _volume(name: str) -> Json:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources: list[Json] = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": _MODE}}


STEP = AdmissionStep(
    "ServiceAccount",
    _admit,
    frozenset({"create"}),
    frozenset({"pods"}),
    of_spec=(),
    does="`default` where none is named",
)
MOUNT_STEP = AdmissionStep(
    "ServiceAccountToken",
    _mount,
    frozenset({"create"}),
    frozenset({"pods"}),
    of_spec=(ACCOUNTS,),
    does="mounts a token of the account, the certificate and the namespace, where the pod and the account allow it",
)
