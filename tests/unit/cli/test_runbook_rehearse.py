"""What a rehearsal says that it does not know."""

from __future__ import annotations

from fairlead.cli.runbook.rehearse import not_measured
from fairlead.core.problems import Problems
from fairlead.model.catalog import CATALOG
from fairlead.model.runbooks.procedure import compile_procedure
from tests.unit.reconcile.runbooks.book_world import BOOK


def test_decisions_about_custom_kinds_are_named_as_not_measured() -> None:
    known = {"name": "decided", "apiVersion": "apps/v1", "kind": "Deployment", "objectName": "web"}
    custom = {"name": "turned", "apiVersion": "example.com/v1", "kind": "Turbine", "objectName": "one"}
    spec = {**BOOK, "decisions": [known, custom]}
    assert not_measured(spec, compile_procedure(spec, CATALOG, None, Problems())) == ["turned"]
    assert not_measured(BOOK, compile_procedure(BOOK, CATALOG, None, Problems())) == []
