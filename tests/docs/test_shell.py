"""The reader that runs the pages notices what it is there to notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import Block, anchors, links, shell_blocks
from tests.docs.shell import Reader

PAGE = """# A page

[there](other.md#part-two)

<!-- run: fails -->
```sh
false
```

```text
nothing
```

Words in between, and [no link in `code`](x.md).

```sh
echo two
```

A sentence.

```text
not the output of the block above
```
"""


def test_a_page_is_taken_apart_into_blocks_with_their_markers_and_outputs() -> None:
    first, second = shell_blocks(PAGE)
    assert first == Block("fails", "false\n", ("nothing",), 7)
    assert second == Block("yes", "echo two\n", (), 17)
    assert links(PAGE) == ["other.md#part-two", "x.md"]
    assert anchors("# A page: one\n## Part `two`\n") == {"a-page-one", "part-two"}


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path, prepared=False)


@pytest.mark.parametrize(
    ("marker", "body", "output"),
    [
        ("yes", "echo a; false; echo b", ()),
        ("yes", "echo a | false | cat", ()),
        ("fails", "false; true", ()),
        ("yes", "echo a", ("b",)),
        ("yes", "echo a; echo b", ("b", "a")),
        ("yes", "echo abc", ("a",)),
        ("sometimes", "true", ()),
    ],
)
def test_a_block_that_does_not_do_what_the_page_says_is_noticed(
    marker: str, body: str, output: tuple[str, ...], reader: Reader
) -> None:
    with pytest.raises(AssertionError):
        reader.do(Block(marker, body, output, 1))
    reader.close()


def test_a_block_goes_on_where_the_one_before_left_off(reader: Reader) -> None:
    reader.do(Block("yes", "greeting=hello; mkdir there; cd there; cat", (), 1))
    reader.do(
        Block("yes", 'echo "$greeting from  $(basename $PWD)"; echo end', ("hello ... there", "end"), 1)
    )
    reader.do(Block("fails", "echo refused >&2; false", ("refused",), 1))
    reader.do(Block("no, it would hang", "sleep 1000", (), 1))
    reader.close()
