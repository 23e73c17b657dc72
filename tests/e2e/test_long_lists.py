"""Long lists over real connections: they go out as they are read, and who does not read costs next to nothing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.e2e.raw import Raw, assert_no_traceback
from tests.e2e.test_watch_wire import CONFIGMAPS, MEGABYTE, configmap, resident
from tests.running import Running

OBJECTS = 40
EACH = 500_000
ASK = f"GET {CONFIGMAPS} HTTP/1.1".encode()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with a list of 20 MB."""
    directory: Path = tmp_path_factory.mktemp("full") / "data"
    server = Running(directory, arguments=("--without-controllers",))
    for number in range(OBJECTS):
        status, _ = server.request("POST", CONFIGMAPS, configmap(f"large-{number:02d}", text="x" * EACH))
        assert status == 201
    yield server
    assert server.stop() == 0
    assert_no_traceback(server)


def test_readers_who_stop_reading_cost_little_and_get_all_of_it_when_they_go_on(full: Running) -> None:
    before = resident(full)
    with ExitStack() as readers:
        slow = [readers.enter_context(closing(full.connect(timeout=60))) for _ in range(8)]
        for reader in slow:
            reader.request("GET", CONFIGMAPS, headers={"Authorization": f"Bearer {full.token}"})
        answers = [reader.getresponse() for reader in slow]
        status, _ = full.request("GET", f"{CONFIGMAPS}/large-00")
        assert status == 200, "the others wait for those who do not read"
        grown = resident(full) - before
        assert grown < 3 * OBJECTS * EACH, f"{grown // MEGABYTE} MB for eight who do not read"
        full.request("POST", CONFIGMAPS, configmap("late"))
        full.request("DELETE", f"{CONFIGMAPS}/late")
        for answer in answers:
            assert len(json.load(answer)["items"]) == OBJECTS, (
                "a list is of one revision, however slowly read"
            )
        status, again = full.request("GET", CONFIGMAPS, connection=slow[0])
        assert (status, len(again["items"])) == (200, OBJECTS), "the connection can be used again"


def test_a_reader_who_leaves_in_the_middle_is_forgotten(full: Running) -> None:
    for _ in range(3):
        with Raw(full) as leaver:
            leaver.request(ASK)
            leaver.socket.recv(1000)
    status, _ = full.request("GET", f"{CONFIGMAPS}/large-00")
    assert status == 200


@pytest.mark.parametrize("headers", [b"", b"Accept-Encoding: gzip\r\n"])
def test_every_form_of_the_list_is_the_same_list(full: Running, headers: bytes) -> None:
    with Raw(full, timeout=60) as reader:
        reader.request(ASK, headers)
        answer = reader.answer()
        body = gzip.decompress(answer.body) if headers else answer.body
        assert bool(headers) == ("content-encoding" in answer.headers)
        found = json.loads(body)
        assert (found["kind"], len(found["items"])) == ("ConfigMapList", OBJECTS)
        exact = f"?resourceVersion={found['metadata']['resourceVersion']}&resourceVersionMatch=Exact"
        reader.request(f"HEAD {CONFIGMAPS}{exact} HTTP/1.1".encode())
        assert int(reader.answer(head_only=True).headers["content-length"][0]) == len(body)
