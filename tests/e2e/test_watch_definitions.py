"""Watches of custom kinds on the wire: they end when their definition changes or goes, and clients begin anew."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

import pytest

from fairlead.testing import Plane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "notes.example.com"
NOTES = "/apis/example.com/v1/namespaces/default/notes"


def request(plane: Plane, method: str, path: str, body: Any = None) -> http.client.HTTPResponse:
    """The answer, its body not read yet."""
    url = urlsplit(plane.url)
    tls = ssl.create_default_context(cafile=str(plane.ca))
    connection = http.client.HTTPSConnection(url.hostname or "", url.port, context=tls, timeout=30)
    headers = {"Authorization": f"Bearer {plane.token}", "Content-Type": "application/json"}
    if method == "PATCH":
        headers["Content-Type"] = "application/merge-patch+json"
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    return connection.getresponse()


def definition() -> dict[str, Any]:
    text = {"type": "object", "properties": {"spec": {"type": "object", "properties": {}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": text}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "example.com",
            "names": {"plural": "notes", "kind": "Note"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


@pytest.mark.parametrize("change", ["deleted", "its schema changed", "its labels changed"])
def test_a_watch_ends_with_what_its_definition_said(fairlead_plane: Plane, change: str) -> None:
    with request(fairlead_plane, "POST", CRDS, definition()) as made:
        assert made.status == 201, made.read()
    note = {"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"name": "one"}}
    with request(fairlead_plane, "GET", f"{NOTES}?watch=1") as watch:
        assert watch.status == 200
        if change == "deleted":
            request(fairlead_plane, "DELETE", f"{CRDS}/{NAME}").read()
        elif change == "its schema changed":
            versions = definition()["spec"]["versions"]
            versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = {
                "a": {"type": "string"}
            }
            patch = {"spec": {"versions": versions}}
            assert request(fairlead_plane, "PATCH", f"{CRDS}/{NAME}", patch).status == 200
        else:
            patch = {"metadata": {"labels": {"a": "b"}}}
            assert request(fairlead_plane, "PATCH", f"{CRDS}/{NAME}", patch).status == 200
            assert request(fairlead_plane, "POST", NOTES, note).status == 201
            assert json.loads(watch.readline())["type"] == "ADDED", "it goes on"
            return
        assert watch.read() == b"", "it ends, with nothing sent"
    again = request(fairlead_plane, "GET", NOTES)
    assert again.status == (404 if change == "deleted" else 200)
