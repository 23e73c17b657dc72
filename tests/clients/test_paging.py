"""Lists that are read in pages: 2,000 objects, as kubectl asks for them."""

from __future__ import annotations

import re

import pytest

from tests.clients.kubectl import Operator
from tests.running import Running

COUNT = 2000


def _filled(kubectl: Operator, server: Running, namespace: str, count: int) -> Operator:
    kubectl(f"create namespace {namespace}")
    connection = server.connect()
    for number in range(count):
        body = {"metadata": {"name": f"c-{number:04d}", "labels": {"odd": str(number % 2)}}}
        address = f"/api/v1/namespaces/{namespace}/configmaps"
        status, answer = server.request("POST", address, body, connection=connection)
        assert status == 201, answer
    connection.close()
    return kubectl.inside(namespace)


@pytest.fixture(scope="module")
def many(kubectl: Operator, server: Running) -> Operator:
    return _filled(kubectl, server, "many", COUNT)


def _pages(said: str) -> list[tuple[str, bool]]:
    """(limit, whether it went on from an earlier page) of every list that kubectl -v=8 says it asked for."""
    asked = re.findall(r"GET \S+/configmaps\?(\S*limit=\S*)", said)
    found = []
    for query in asked:
        values = dict(pair.partition("=")[::2] for pair in query.split("&"))
        found.append((values["limit"], "continue" in values))
    return found


def test_kubectl_reads_all_objects_in_pages_of_500(many: Operator) -> None:
    done = many.run("get cm -o name -v=8 --chunk-size=500")
    assert done.code == 0
    assert done.out.split() == [f"configmap/c-{number:04d}" for number in range(COUNT)]
    assert _pages(done.err) == [("500", False), ("500", True), ("500", True), ("500", True)]


def test_tables_are_paged_as_well_and_have_one_heading(many: Operator) -> None:
    done = many.run("get cm -v=8 --chunk-size=700")
    lines = done.out.splitlines()
    assert len(lines) == COUNT + 1
    assert [line for line in lines if line.startswith("NAME")] == ["NAME     DATA   AGE"]
    assert _pages(done.err) == [("700", False), ("700", True), ("700", True)]


def test_a_selector_thins_every_page(many: Operator) -> None:
    done = many.run("get cm -l odd=1 -o name -v=8 --chunk-size=300")
    assert done.out.split() == [f"configmap/c-{number:04d}" for number in range(1, COUNT, 2)]
    assert [limit for limit, _ in _pages(done.err)] == ["300"] * 4


def test_without_chunks_one_request_reads_everything(many: Operator) -> None:
    done = many.run("get cm -o name -v=8 --chunk-size=0")
    assert len(done.out.split()) == COUNT
    assert _pages(done.err) == []


@pytest.mark.soak
def test_deleting_more_than_a_page_leaves_none(kubectl: Operator, server: Running) -> None:
    fewer = _filled(kubectl, server, "fewer", 600)
    assert len(fewer("delete cm --all --wait=false").splitlines()) == 600
    assert fewer.run("get cm") == (0, "", "No resources found in fewer namespace.\n")
