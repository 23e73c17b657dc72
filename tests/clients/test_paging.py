"""Lists that are read in pages: 2,000 objects, as kubectl asks for them."""

from __future__ import annotations

import re

import pytest

from tests.clients.kubectl import Operator
from tests.running import Running

COUNT = 2000


@pytest.fixture(scope="module")
def many(kubectl: Operator, server: Running) -> Operator:
    kubectl("create namespace many")
    connection = server.connect()
    for number in range(COUNT):
        body = {"metadata": {"name": f"c-{number:04d}", "labels": {"odd": str(number % 2)}}}
        status, answer = server.request(
            "POST", "/api/v1/namespaces/many/configmaps", body, connection=connection
        )
        assert status == 201, answer
    connection.close()
    return kubectl.inside("many")


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


def test_deleting_all_of_them_leaves_none(many: Operator) -> None:
    many("delete cm --all --wait=false")
    assert many.run("get cm") == (0, "", "No resources found in many namespace.\n")
