"""Verdicts on short names, remembered: the same few label keys, container names and taints come with every pod.

Metadata and pod validation ask here instead of `model/names.py` where a text is likely to come again. Long texts
are judged afresh each time, so that what is remembered stays small whatever clients send.
"""

from __future__ import annotations

from functools import lru_cache

from fairlead.model import names

_REMEMBERED_MAX = 8192
_LENGTH_MAX = 128


@lru_cache(maxsize=_REMEMBERED_MAX)
def _name(rule: str, name: str) -> tuple[str, ...]:
    return tuple(names.name_problems(rule, name))


@lru_cache(maxsize=_REMEMBERED_MAX)
def _label_key(key: str) -> tuple[str, ...]:
    return tuple(names.label_key_problems(key))


@lru_cache(maxsize=_REMEMBERED_MAX)
def _label_value(value: str) -> tuple[str, ...]:
    return tuple(names.label_value_problems(value))


@lru_cache(maxsize=_REMEMBERED_MAX)
def _port_name(name: str) -> tuple[str, ...]:
    return tuple(names.port_name_problems(name))


@lru_cache(maxsize=_REMEMBERED_MAX)
def _env_name(name: str) -> tuple[str, ...]:
    return tuple(names.env_name_problems(name))


def name_problems(rule: str, name: str) -> tuple[str, ...]:
    return _name(rule, name) if len(name) <= _LENGTH_MAX else tuple(names.name_problems(rule, name))


def label_key_problems(key: str) -> tuple[str, ...]:
    return _label_key(key) if len(key) <= _LENGTH_MAX else tuple(names.label_key_problems(key))


def label_value_problems(value: str) -> tuple[str, ...]:
    return _label_value(value) if len(value) <= _LENGTH_MAX else tuple(names.label_value_problems(value))


def port_name_problems(name: str) -> tuple[str, ...]:
    return _port_name(name) if len(name) <= _LENGTH_MAX else tuple(names.port_name_problems(name))


def env_name_problems(name: str) -> tuple[str, ...]:
    return _env_name(name) if len(name) <= _LENGTH_MAX else tuple(names.env_name_problems(name))
