"""What a plane starts with: files, folders and objects, custom kinds first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairlead.core.errors import UsageError
from fairlead.testing import Plane, plane

CRONTABS = Path(__file__).parents[3] / "examples/testing/crontabs.yaml"
TAB = """
apiVersion: stable.example.com/v1
kind: CronTab
metadata: {name: nightly, namespace: shop}
spec: {cronSpec: 0 3 * * *}
"""


def test_manifests_come_from_files_and_folders_in_order(tmp_path: Path) -> None:
    (tmp_path / "01-namespace.yaml").write_text(
        "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---\n"
    )
    (tmp_path / "02-tab.yml").write_text(TAB)
    (tmp_path / "03-list.json").write_text(
        '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap",'
        ' "metadata": {"name": "listed"}}]}'
    )
    (tmp_path / "notes.txt").write_text("not a manifest")
    with plane(crds=[CRONTABS], manifests=[tmp_path]) as p:
        found = p.request("GET", "/apis/stable.example.com/v1/namespaces/shop/crontabs/nightly").body
        assert found["spec"] == {"cronSpec": "0 3 * * *", "image": "cron:1", "replicas": 1}
        assert p.request("GET", "/api/v1/namespaces/default/configmaps/listed").status == 200


def test_what_exists_is_left_as_it_is(tmp_path: Path) -> None:
    manifest = tmp_path / "map.yaml"
    manifest.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: old}}")
    for value in ("old", "new"):
        manifest.write_text(manifest.read_text().replace("old", value))
        with plane(data_dir=tmp_path / "data", manifests=[manifest], crds=[CRONTABS]) as p:
            assert p.request("GET", "/api/v1/namespaces/default/configmaps/a").body["data"] == {"k": "old"}


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"apiVersion": "v1", "kind": "Gizmo", "metadata": {"name": "a"}}, "serves no v1 Gizmo"),
        ({"apiVersion": "no.example.com/v1", "kind": "A", "metadata": {"name": "a"}}, "in crds"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "A B"}}, "metadata.name"),
        ("missing.yaml", "cannot read missing.yaml"),
    ],
    ids=["kind", "group", "invalid", "file"],
)
def test_what_cannot_be_created_is_told_with_its_reason(
    fairlead_shared_plane: Plane, manifest: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        fairlead_shared_plane.create(manifest)


@pytest.mark.parametrize("text", ["- a\n- b\n", "{", "just text"])
def test_files_that_are_no_manifests_are_refused(
    fairlead_shared_plane: Plane, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"bad\.yaml|must be an object"):
        fairlead_shared_plane.create(file)
