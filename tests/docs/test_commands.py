"""Every shell block of every page does what the page says, on a real server, in the order of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, Block, name_of, shell_blocks
from tests.docs.shell import Reader
from tests.running import need_kubectl

# How to work on the repository: run by the tests themselves, or by whoever changes a pin.
NOT_RUN = ("CONTRIBUTING.md",)
# Pages that remove what they made: objects, and files beside the data directory.
TIDY = (
    "docs/guides/audit.md",
    "docs/guides/backup-and-restore.md",
    "docs/guides/explaining-a-placement.md",
    "docs/guides/testing-a-controller-against-it.md",
    "docs/guides/tokens-and-roles.md",
)
# Much of one core each, for what tests of the simulator and of identities do as well: in `make soak`.
LONG = (
    "docs/guides/operator-in-a-pod.md",
    "docs/guides/testing-an-operator.md",
    "docs/guides/testing-controllers.md",
    "docs/tutorial/seed-82219.md",
)
RUN = [page for page in PAGES if name_of(page) not in NOT_RUN and shell_blocks(page.read_text())]


def starts(blocks: list[Block]) -> bool:
    return any(block.marker.startswith("start") for block in blocks)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name_of(page), marks=pytest.mark.soak if name_of(page) in LONG else ())
        for page in RUN
    ],
)
def test_the_commands_of_a_page_work(page: Path, tmp_path: Path) -> None:
    need_kubectl()
    blocks = shell_blocks(page.read_text())
    reader = Reader(tmp_path, prepared=not starts(blocks))
    try:
        before = reader.objects() if name_of(page) in TIDY else set()
        for block in blocks:
            reader.do(block)
        if name_of(page) in TIDY:
            assert (reader.files(), reader.objects() - before) == (set(), set())
    finally:
        reader.close()


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial/first-steps.md"])
def test_a_newcomers_page_starts_the_server_itself(name: str) -> None:
    page = next(page for page in RUN if name_of(page) == name)
    assert starts(shell_blocks(page.read_text()))
