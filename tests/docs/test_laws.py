"""Comments that cite a law or a page lead somewhere, words of the glossary are words of the
code, and the page about the loop names all effects there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from fairlead.decision.effects import Effect
from tests.docs.pages import ROOT, name_of

SOURCES = sorted((ROOT / "src/fairlead").rglob("*.py"))
LAWS = (ROOT / "docs/concepts/laws.md").read_text()
GLOSSARY = (ROOT / "docs/concepts/glossary.md").read_text()
TERMS = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$", GLOSSARY, re.MULTILINE)[2:]


def test_every_law_that_is_cited_is_written_down() -> None:
    numbers = [int(number) for number in re.findall(r"^## (\d+)\. ", LAWS, re.MULTILINE)]
    assert numbers == [*range(1, len(numbers) + 1)]
    cited = [(page, found) for page in SOURCES for found in re.findall(r"laws\.md (\d+)", page.read_text())]
    assert len(cited) > 10
    assert [name_of(page) for page, found in cited if int(found) not in numbers] == []


@pytest.mark.parametrize("citation", [r"\blaw \d", r"\blesson \d", r"\b[FHORX]\d\d[:)]"])
def test_nothing_is_cited_that_is_not_in_the_repository(citation: str) -> None:
    assert [name_of(page) for page in SOURCES if re.search(citation, page.read_text())] == []


def test_the_glossary_has_an_order() -> None:
    names = [term.lower() for term, _ in TERMS]
    assert len(names) > 30
    assert names == sorted(names)


@pytest.mark.parametrize(("term", "where"), TERMS)
def test_a_word_of_the_glossary_is_used_where_it_says(term: str, where: str) -> None:
    text = "".join(file.read_text() for place in re.findall(r"`([^`]+)`", where) for file in _files(place))
    first = term.split(",")[0].split()[0]
    assert re.search(rf"\b{first}", text, re.IGNORECASE), f"{term} is not a word of {where}"


def _files(place: str) -> list[Path]:
    for root in (ROOT / "src/fairlead", ROOT):
        path = root / place
        if path.exists():
            return sorted(path.rglob("*.py")) if path.is_dir() else [path]
    raise AssertionError(f"{place} does not exist")


def test_the_page_about_the_loop_names_every_effect() -> None:
    (named,) = re.findall(
        r"^There are \w+: (.*?)\.", (ROOT / "docs/concepts/the-loop.md").read_text(), re.M | re.S
    )
    assert set(re.findall(r"`(\w+)`", named)) == {each.__name__ for each in get_args(Effect)}
