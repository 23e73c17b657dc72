"""Markdown pages as tests see them: code blocks with their markers, links, headings.

A block of shell (```sh) is run as a reader would paste it. A comment on the line above changes that:

    <!-- run: start [DIR] -->   starts a server; the test starts one on DIR (default fairlead-data) instead
    <!-- run: fails -->         the last command must fail: the page shows a refusal
    <!-- run: no, WHY -->       not run

A block of ```text right after it is what it prints: line by line, in order, with `...` for whatever differs from
run to run.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")],
    key=lambda path: path.relative_to(ROOT).as_posix(),
)

_FENCE = re.compile(
    r"(?:^<!-- run: (?P<marker>[^>]*?) -->\n)?^```(?P<language>\w*)\n(?P<body>.*?)^```\n?",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


class Block(NamedTuple):
    marker: str  # yes, start DIR, fails, no, ...
    body: str
    output: tuple[str, ...]  # lines that must appear
    line: int


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def shell_blocks(text: str) -> list[Block]:
    blocks: list[Block] = []
    found = list(_FENCE.finditer(text))
    for index, fence in enumerate(found):
        if fence["language"] != "sh":
            continue
        following = found[index + 1] if index + 1 < len(found) else None
        output: tuple[str, ...] = ()
        apart = text[fence.end() : following.start()].strip() if following is not None else "the end"
        if following is not None and following["language"] == "text" and not apart:
            output = tuple(line for line in following["body"].splitlines() if line.strip())
        line = text.count("\n", 0, fence.start("body")) + 1
        blocks.append(Block(fence["marker"] or "yes", fence["body"], output, line))
    return blocks


def prose(text: str) -> str:
    """The page without its code blocks."""
    return _COMMENT.sub("", _FENCE.sub("", text))


def links(text: str) -> list[str]:
    return _LINK.findall(prose(text))


def anchors(text: str) -> set[str]:
    return {
        re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        for heading in _HEADING.findall(prose(text))
    }
