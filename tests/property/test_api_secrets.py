"""No value of a Secret is ever in a line of audit, whatever is done to it and whether it is taken or refused."""

from __future__ import annotations

import base64
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.api.audit.rules import AuditTarget
from fairlead.core import codec
from fairlead.core.errors import ApiError
from fairlead.port.request import Request
from tests.inprocess import InProcess
from tests.unit.api.things import notes

SECRETS = "/api/v1/namespaces/default/secrets"
# Long enough not to occur by chance, and begun so that no name of a field is one.
_values = st.text(alphabet=string.ascii_letters + string.digits, min_size=14, max_size=38).map("9Z".__add__)
_keys = st.sampled_from(["password", "token", "a.b", "x" * 40])
_data = st.dictionaries(_keys, _values, min_size=1, max_size=3)


def _secret(plain: dict[str, str], encoded: dict[str, str]) -> dict[str, Any]:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in encoded.items()}
    return {
        "kind": "Secret",
        "apiVersion": "v1",
        "metadata": {"name": "s"},
        "stringData": plain,
        "data": data,
    }


@given(_data, _data, _data, st.sampled_from(["merge-patch", "strategic-merge-patch", "json-patch"]))
def test_values_of_secrets_are_in_no_line(
    first: dict[str, str], second: dict[str, str], third: dict[str, str], media: str
) -> None:
    plane = InProcess()
    assert plane.post(SECRETS, _secret(first, second))[0] == 201
    assert plane.put(f"{SECRETS}/s", _secret(second, third))[0] == 200
    change: Any = {"stringData": third, "immutable": True}
    if media == "json-patch":
        change = [
            {"op": "replace", "path": "/stringData", "value": third},
            {"op": "add", "path": "/stringData", "value": third},
        ]
    plane.patch(f"{SECRETS}/s", change, media)
    plane.put(f"{SECRETS}/s", {**_secret(first, first), "type": "changed"})
    plane.delete(f"{SECRETS}/s")
    lines = b"\n".join(notes(plane))
    assert lines.count(b'"secrets"') >= 2
    for value in {*first.values(), *second.values(), *third.values()}:
        assert value.encode() not in lines
        assert base64.b64encode(value.encode()) not in lines


@given(_data, st.sampled_from(["stringData", "type", "metadata", "immutable"]))
def test_values_of_refused_secrets_are_in_no_line_either(values: dict[str, str], wrong: str) -> None:
    plane = InProcess()
    obj = {**_secret(values, {}), wrong: list(values.values())}
    request = Request("create", "", "v1", "secrets", "default", body=codec.encode(obj))
    with pytest.raises(ApiError) as refused:
        plane.plan(request)
    target, error = AuditTarget(plural="secrets", namespace="default"), refused.value
    (note,) = plane.desk.audit.refused(plane.context(), "create", target, error.status, error.reason)
    assert b'"code":%d' % error.status in note.body
    for value in values.values():
        assert value.encode() not in note.body
