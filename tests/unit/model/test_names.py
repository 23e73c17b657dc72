"""Names, label keys and values: what passes, and the sentence for what does not."""

from __future__ import annotations

import pytest

from fairlead.model import names

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
    "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("rule", "good"),
    [
        ("label", ["a", "1", "my-name", "a--b", "a" * 63]),
        ("label1035", ["a", "my-name", "a1", "a" * 63]),
        ("subdomain", ["a", "1", "a.b", "a-b.c-d", "1.2.3", "a" * 253]),
        ("path-segment", ["system:node", "A b", "a.b", "..."]),
        ("http-header", ["X-Real-Ip", "a"]),
    ],
)
def test_good_names_have_no_problems(rule: str, good: list[str]) -> None:
    assert {name: names.name_problems(rule, name) for name in good} == {name: [] for name in good}


@pytest.mark.parametrize(
    ("rule", "bad"),
    [
        ("label", ["", "-a", "a-", "A", "a.b", "a_b", "é", "a\n", "a" * 64, " "]),
        ("label1035", ["", "1a", "-a", "a-", "A", "a.b", "a" * 64]),
        ("subdomain", ["", "-a", "a-", "A", "a..b", ".a", "a.", "a.-b", "a_b", "a/b", "a\n", "a" * 254]),
        ("path-segment", [".", "..", "a/b", "50%"]),
        ("http-header", ["", "a b", "a:b"]),
    ],
)
def test_bad_names_have_problems(rule: str, bad: list[str]) -> None:
    assert [name for name in bad if not names.name_problems(rule, name)] == []


def test_messages_are_kubernetes_own_with_the_expression() -> None:
    assert names.name_problems("label", "A") == [LABEL]
    assert names.name_problems("subdomain", "A_b") == [SUBDOMAIN]
    assert names.name_problems("label", "a" * 64) == ["must be no more than 63 bytes"]
    assert names.name_problems("subdomain", "A" * 300) == ["must be no more than 253 bytes", SUBDOMAIN]
    assert "start with an alphabetic character" in names.name_problems("label1035", "1a")[0]
    assert names.name_problems("path-segment", "a/%") == ["may not contain '/'", "may not contain '%'"]
    assert names.name_problems("path-segment", "..") == ["may not be '..'"]


def test_a_generate_name_may_end_in_a_dash() -> None:
    assert names.name_problems("subdomain", "web-", prefix=True) == []
    assert names.name_problems("subdomain", "Web-", prefix=True) == [SUBDOMAIN]
    assert names.name_problems("subdomain", "web-") == [SUBDOMAIN]


@pytest.mark.parametrize(
    "key", ["a", "A", "app.kubernetes.io/name", "a_b.c-d", "1", "x/y", "example.com/My_Name", "a" * 63]
)
def test_good_label_keys(key: str) -> None:
    assert names.label_key_problems(key) == []


@pytest.mark.parametrize(
    ("key", "problems"),
    [
        ("", ["name part must be non-empty", f"name part {QUALIFIED}"]),
        ("a b", [f"name part {QUALIFIED}"]),
        ("-a", [f"name part {QUALIFIED}"]),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        ("/a", ["prefix part must be non-empty"]),
        ("Bad_Prefix/a", [f"prefix part {SUBDOMAIN}"]),
        ("ok/", ["name part must be non-empty", f"name part {QUALIFIED}"]),
        (
            "a/b/c",
            [
                f"a qualified name {QUALIFIED} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
        ),
    ],
)
def test_bad_label_keys_are_explained_by_part(key: str, problems: list[str]) -> None:
    assert names.label_key_problems(key) == problems


@pytest.mark.parametrize("value", ["", "a", "A_b.c-1", "1", "a" * 63])
def test_good_label_values(value: str) -> None:
    assert names.label_value_problems(value) == []


@pytest.mark.parametrize("value", [" ", "a b", "-a", "a-", "a/b", "é", "a" * 64, "a\n"])
def test_bad_label_values(value: str) -> None:
    assert names.label_value_problems(value)


def test_the_label_value_message_shows_the_expression() -> None:
    (message,) = names.label_value_problems("a b")
    assert message.startswith("a valid label must be an empty string or consist of alphanumeric characters")
    assert message.endswith(
        "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    )


@pytest.mark.parametrize(
    ("key", "count"),
    [
        ("a", 0),
        (".env", 0),
        ("A_b-c.d", 0),
        ("", 1),
        (".", 1),
        ("..", 1),
        ("..a", 1),
        ("a/b", 1),
        ("a" * 254, 1),
    ],
)
def test_config_keys(key: str, count: int) -> None:
    assert len(names.config_key_problems(key)) == count


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("http", 0),
        ("a-1", 0),
        ("p" * 15, 0),
        ("p" * 16, 1),
        ("", 2),
        ("80", 1),
        ("a--b", 1),
        ("-a", 1),
        ("A", 2),
    ],
)
def test_port_names(name: str, count: int) -> None:
    assert len(names.port_name_problems(name)) == count


@pytest.mark.parametrize(
    ("name", "count"), [("PATH", 0), ("a.b-c d", 0), ("1", 0), ("", 1), ("A=B", 1), ("é", 1), ("a\tb", 1)]
)
def test_environment_names(name: str, count: int) -> None:
    assert len(names.env_name_problems(name)) == count


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000 + "!", "a." * 500_000 + "!", "-" * 1_000_000, "a-" * 500_000]
)
def test_enormous_names_are_judged_without_backtracking(text: str) -> None:
    assert names.name_problems("subdomain", text)
    assert names.label_key_problems(text)
    assert names.label_value_problems(text)
