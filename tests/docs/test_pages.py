"""Pages are true and joined: links lead somewhere, files they name exist, commands they name exist."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from fairlead.cli.main import VERBS
from tests.docs.pages import PAGES, ROOT, anchors, links, name_of, prose, shell_blocks

_FILE = re.compile(r"`([\w.-]+(?:/[\w.*-]+)*/[\w.*-]+\.(?:py|tbl|md|txt|yaml|toml))`")
_TARGETS = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in links(page.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        assert target.exists(), f"{name_of(page)}: {link}"
        if anchor:
            assert anchor in anchors(target.read_text()), f"{name_of(page)}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_that_is_named_exists(page: Path) -> None:
    for name in _FILE.findall(page.read_text()):
        if name.startswith("identity/"):
            continue
        found = any(list(folder.glob(name)) for folder in (ROOT, ROOT / "src/fairlead", page.parent))
        assert found, (
            f"{name_of(page)} names {name}, which is neither in the repository nor below src/fairlead"
        )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_that_is_named_exists(page: Path) -> None:
    text = page.read_text()
    shell = "".join(block.body for block in shell_blocks(text))
    verbs = {verb.name for verb in VERBS}
    for verb in re.findall(r"`fairlead ([a-z][a-z-]*)", text) + re.findall(
        r"^fairlead ([a-z][a-z-]*)", text, re.MULTILINE
    ):
        assert verb in verbs, f"{name_of(page)}: fairlead {verb}"
    for target in re.findall(r"`make ([a-z]+)", text) + re.findall(r"^make ([a-z]+)", shell, re.MULTILINE):
        assert target in _TARGETS, f"{name_of(page)}: make {target}"


def test_the_index_leads_to_every_page_of_the_documentation() -> None:
    index = ROOT / "docs/README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links(index.read_text())}
    missing = [
        name_of(page) for page in PAGES if page.is_relative_to(ROOT / "docs") and page not in linked | {index}
    ]
    assert not missing


def test_every_make_target_is_explained_to_contributors() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert not [target for target in sorted(_TARGETS) if f"make {target}" not in text]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_one_title_and_short_lines(page: Path) -> None:
    text = page.read_text()
    assert text.startswith("# ")
    for line in prose(text).splitlines():
        assert len(line) <= 125 or line.startswith("|"), f"{name_of(page)}: this line is too long: {line}"
