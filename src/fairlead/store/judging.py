"""The rules by which the store machine judges a transaction: preconditions, form, damage. Pure; no state of its own."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.model.key import Key
from fairlead.store.contract import (
    DELETED,
    OPERATIONS_MAX,
    Absent,
    AtRevision,
    CommittedChange,
    Damaged,
    Entry,
    Precondition,
    Remove,
    Transaction,
)


def is_violated(precondition: Precondition, current: Entry | None) -> bool:
    if isinstance(precondition, Absent):
        return current is not None
    if current is None:
        return True
    if isinstance(precondition, AtRevision):
        return current.revision != precondition.revision
    return current.uid != precondition.uid


def state_after(pending: CommittedChange) -> Entry | None:
    """The object as a change leaves it."""
    return None if pending.type is DELETED else pending.entry


def explain_malformed(transaction: Transaction) -> str:
    """Why no store could carry a transaction out; "" if it can."""
    operations = transaction.operations
    if len(operations) > OPERATIONS_MAX:
        return f"{len(operations)} operations in one transaction; at most {OPERATIONS_MAX} are allowed"
    if len({operation.key for operation in operations}) < len(operations):
        return "two operations of one transaction have the same key"
    return ""


def touched_damage(transaction: Transaction, damaged: Mapping[Key, Damaged]) -> Damaged | None:
    """The damaged object that a transaction rests on or would replace. Deleting it is how people end it."""
    for each in (*transaction.preconditions, *transaction.operations):
        if each.key in damaged and not isinstance(each, Remove):
            return damaged[each.key]
    return None
