"""The guide to testing controllers, and the README, show what is in examples/testing, which runs as a reader would run it."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGES = (ROOT / "docs/guides/testing-controllers.md", ROOT / "README.md")
EXAMPLES = ROOT / "examples/testing"


def test_every_example_of_the_page_is_a_part_of_a_file_that_is_run() -> None:
    files = [file.read_text() for file in EXAMPLES.glob("*.py")]
    text = "".join(page.read_text() for page in PAGES)
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    for block in blocks:
        assert any(block in file for file in files), f"no file of examples/testing has this:\n{block}"


def test_every_client_has_an_example() -> None:
    found = {file.stem.removeprefix("test_with_") for file in EXAMPLES.glob("test_with_*.py")}
    assert found == {"kopf", "kr8s", "kubernetes", "lightkube"}
