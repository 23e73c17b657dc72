"""Every documented function and example has the value that it has in Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.program import Budget, compile_expression
from fairlead.model.cel.static import DYN
from tests.unit.model.cel.cases import CASES, ERROR, NAMES

_SCOPE = dict.fromkeys(NAMES, DYN)


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_an_expression_has_its_value(text: str, expected: Any) -> None:
    program = compile_expression(text, _SCOPE, frozenset())
    if expected == ERROR:
        with pytest.raises(EvaluationError):
            program.run(NAMES, Budget())
        return
    value = program.run(NAMES, Budget())
    assert value == expected
    assert type(value) is type(expected)
