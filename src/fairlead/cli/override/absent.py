"""What an override names and is not there, as a NotFound: `verb.py` makes overrides within it.

The server refuses such an override as one that is invalid, with what there is instead. To who typed the command it is a
name that does not exist, which has an exit code of its own. Other refusals pass as they are, also where only one of
several causes is another.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairlead.core.errors import Invalid, NotFound
from fairlead.core.problems import NOT_FOUND


@contextmanager
def absence_told() -> Iterator[None]:
    try:
        yield
    except Invalid as error:
        if error.causes and all(each.reason == NOT_FOUND for each in error.causes):
            raise NotFound(str(error), causes=error.causes) from error
        raise
