"""One manifest with many kinds: created in one go, waited for by what its status says, deleted by its label."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.clients.converging import eventually
from tests.clients.kubectl import Operator

ARGUMENTS = ("--hollow-nodes", "3")
EXAMPLES = Path(__file__).parents[2] / "examples"
LABEL = "part-of=one-manifest"


def manifest(folder: Path, namespace: str) -> tuple[Path, list[str]]:
    """The examples of namespaced kinds and a PriorityClass as one file; and what kubectl calls its objects."""
    documents = [
        document
        for file in sorted(EXAMPLES.glob("0*.yaml"))
        for document in yaml.safe_load_all(file.read_text())
        if document["kind"] not in ("Namespace", "Node")
    ]
    for document in documents:
        metadata = document["metadata"]
        metadata.setdefault("labels", {})["part-of"] = "one-manifest"
        if document["kind"] != "PriorityClass":
            metadata["namespace"] = namespace
    file = folder / "everything.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    return file, [f"{each['kind'].lower()} {each['metadata']['name']}" for each in documents]


def test_a_manifest_of_twelve_kinds_lives_and_goes(team: Operator, tmp_path: Path) -> None:
    file, objects = manifest(tmp_path, team.namespace)
    assert len({each.split()[0] for each in objects}) >= 12
    created = team(f"create -f {file}").splitlines()
    told = [line.removesuffix(" created").replace("/", " ").split() for line in created]
    assert [f"{kind.partition('.')[0]} {name}" for kind, name in told] == objects
    assert "already exists" in team.refused(f"create -f {file}")

    team("wait deployment/web --for=jsonpath={.status.readyReplicas}=3 --timeout=90s")
    team("wait deployment/web --for=condition=Available --timeout=90s")
    assert "timed out" in team.refused(
        "wait deployment/web --for=jsonpath={.status.readyReplicas}=99 --timeout=3s"
    )

    kinds = ",".join(sorted({each.split()[0] for each in objects}))
    assert len(team.asked(f"get {kinds} -l {LABEL} -o name").splitlines()) == len(objects)
    deleted = team.run(f"delete {kinds} -l {LABEL} --timeout=90s")
    # kubectl's own word about the PriorityClass.
    assert deleted.err == "Warning: deleting cluster-scoped resources, not scoped to the provided namespace\n"
    assert (deleted.code, len(deleted.out.splitlines())) == (0, len(objects))
    eventually(lambda: not team.asked(f"get {kinds} -l {LABEL} -o name"))
    eventually(lambda: not team.asked("get pods,replicasets -o name"))


def test_a_wait_hears_of_what_comes_later(team: Operator) -> None:
    team("create configmap told --from-literal=state=before")
    with team.started("wait configmap/told --for=jsonpath={.data.state}=after --timeout=90s") as waiting:
        team('patch configmap told -p {"data":{"state":"between"}}'.replace('"', '\\"'))
        team('patch configmap told -p {"data":{"state":"after"}}'.replace('"', '\\"'))
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "configmap/told condition met\n"
