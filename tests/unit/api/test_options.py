"""Numbers in a query: what no database can count to is refused by its name."""

from __future__ import annotations

import pytest

from fairlead.api.options import parse_revision
from fairlead.core.errors import BadRequest
from fairlead.port.query import parse_whole

FITS = 2**63 - 1


def test_a_number_that_fits_is_taken() -> None:
    assert (
        parse_whole({"after": str(FITS)}, "after") == parse_revision({"resourceVersion": str(FITS)}) == FITS
    )
    assert parse_whole({}, "after") is None


@pytest.mark.parametrize("text", [str(2**63), str(10**19), "9" * 30, "-1", "1e9", "nan", "٣"])
def test_another_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(BadRequest, match=r"query parameter after: .* is not a whole number"):
        parse_whole({"after": text}, "after")
    with pytest.raises(BadRequest, match="query parameter resourceVersion: "):
        parse_revision({"resourceVersion": text})
