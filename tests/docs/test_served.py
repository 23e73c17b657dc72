"""What the reference says of a running server: its metrics and its files. And the examples, applied and run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clients.converging import eventually
from tests.docs.pages import ROOT
from tests.running import Running

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def test_every_metric_that_the_page_says_a_server_tells_is_told_and_no_other(running: Running) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "counted"},
        "spec": {},
    }
    running.request("POST", leases, lease)
    lease["spec"] = {"renewTime": "2026-01-01T00:00:00.000000Z"}
    running.request("PUT", f"{leases}/counted", lease)
    page = (ROOT / "docs/reference/metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| [^|]+ \| ([^|]+) \|", page, re.MULTILINE)
    # The proxy of Services is there beside local nodes only; tests/e2e/test_metrics.py looks at agents as well. What
    # monitors and objectives tell is there once they have begun.
    elsewhere = ("fairlead_service_", "fairlead_slo_", "fairlead_invariant_")
    explained = {name: kind for name, kind, by in rows if "server" in by and not name.startswith(elsewhere)}
    # Some are there only when what they count has happened: the controllers begin after the API serves.
    eventually(lambda: explained.keys() <= _metrics(running).keys())
    told = _metrics(running)
    assert explained == {name: kind for name, kind in told.items() if not name.startswith(elsewhere)}


def _metrics(running: Running) -> dict[str, str]:
    status, text = running.request("GET", "/metrics")
    assert status == 200
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))


def test_every_file_of_a_data_directory_is_explained(running: Running) -> None:
    page = (ROOT / "docs/reference/data-directory.md").read_text()
    rows = re.findall(r"^\| (`[^|]*`) \|", page, re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    there = {
        path.relative_to(running.directory).as_posix()
        for path in running.directory.rglob("*")
        if path.is_file()
    }
    assert there <= explained


def test_every_table_and_the_format_of_the_database_are_explained(tmp_path: Path) -> None:
    import apsw

    from fairlead.store.schema import APPLICATION_ID, FORMAT
    from fairlead.store.sqlite import SqliteJournal

    SqliteJournal(str(tmp_path / "store.db")).close()
    page = (ROOT / "docs/reference/data-directory.md").read_text()
    database = apsw.Connection(str(tmp_path / "store.db"))
    for name, columns in database.execute(
        "SELECT m.name, group_concat(c.name) FROM sqlite_schema m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table' GROUP BY m.name"
    ).fetchall():
        row = re.search(rf"^\| `{name}` \|.*$", page, re.MULTILINE)
        assert row is not None, name
        for column in str(columns).split(","):
            known = column in ("resource", "namespace", "name") and "key and" in row[0]
            assert known or f"`{column}`" in row[0] or "per resource" in row[0], f"{name}.{column}"
    database.close()
    assert f"`{APPLICATION_ID:#x}`" in page
    assert f"the format, now {FORMAT}." in page


@pytest.fixture(scope="module")
def applied(running: Running) -> Running:
    """A server with all examples, applied in one go as their readme says."""
    running.kubectl("apply", "-f", str(ROOT / "examples"))
    return running


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_stored_and_does_not_change_when_applied_again(path: Path, applied: Running) -> None:
    assert len(declared(applied, path)) == len(list(yaml.safe_load_all(path.read_text())))

    def unchanged() -> bool:
        before = declared(applied, path)
        applied.kubectl("apply", "-f", str(path))
        return declared(applied, path) == before

    eventually(unchanged)  # not at once: a controller may have written an annotation in between


def test_the_examples_do_not_differ_from_what_is_stored(applied: Running) -> None:
    eventually(lambda: applied.kubectl("diff", "-f", str(ROOT / "examples"), check=False) == "")


def declared(running: Running, path: Path) -> list[Any]:
    """The stored objects without what the running controllers go on to write into them."""
    read = json.loads(running.kubectl("get", "-f", str(path), "-o", "json"))
    items = read["items"] if read["kind"] == "List" else [read]
    for item in items:
        item.pop("status", None)
        del item["metadata"]["resourceVersion"]
    return list(items)


def test_the_examples_are_numbered_without_a_gap_and_all_are_in_their_readme() -> None:
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    page = (ROOT / "examples/README.md").read_text()
    names = [path.name for path in (ROOT / "examples").iterdir() if path.suffix in (".yaml", ".py")]
    assert [name for name in names if f"({name})" not in page] == []


def test_the_watch_example_misses_nothing_and_repeats_nothing_across_a_restart(tmp_path: Path) -> None:
    alone = ("--no-root-certificates",)
    server = Running(tmp_path / "data", arguments=alone)
    address = "/api/v1/namespaces/default/configmaps"

    def create(name: str) -> str:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        status, made = server.request("POST", address, body)
        assert status == 201
        return f"{name} at revision {made['metadata']['resourceVersion']}"

    expected = [f"LISTED   {create('first')}"]
    watcher = subprocess.Popen(
        [
            sys.executable,
            str(ROOT / "examples/watch.py"),
            "--data-dir",
            str(server.directory),
            "--events",
            "3",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert watcher.stdout is not None
        seen = [watcher.stdout.readline().rstrip()]
        expected.append(f"ADDED    {create('second')}")
        seen.append(watcher.stdout.readline().rstrip())
        server.kill()
        server = Running(server.directory, server.port, arguments=alone)
        expected += [f"ADDED    {create('third')}", f"ADDED    {create('fourth')}"]
        rest, _ = watcher.communicate(timeout=120)
        assert seen + rest.splitlines() == expected
        assert watcher.returncode == 0
    finally:
        watcher.kill()
        watcher.wait()
        server.stop()
