"""Kubeconfigs: what we write can be read back; what others wrote is understood, or refused with a reason."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.errors import UsageError
from fairlead.runtime.credentials.kubeconfig import ServerAccess, load, parse, render, server_url

HERE = Path("/somewhere/kubeconfig")


def config(cluster: Any = None, user: Any = None, context: Any = None, **top: Any) -> str:
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"} | (context or {})}],
        "clusters": [{"name": "k", "cluster": {"server": "https://h:1"} | (cluster or {})}],
        "users": [{"name": "u", "user": user or {}}],
    }
    return yaml.safe_dump(document | top)


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@given(
    st.text(alphabet=st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1),
    st.text(max_size=50),
)
def test_what_is_written_is_read_back(token: str, authority: str) -> None:
    assert parse(render("https://127.0.0.1:7443", authority, "admin", token), HERE) == ServerAccess(
        "https://127.0.0.1:7443", ca=authority, token=token
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (config(user={"token": "t"}), ServerAccess("https://h:1", token="t")),
        (config({"server": "http://h/base/"}), ServerAccess("http://h/base")),
        (config({"certificate-authority-data": b64("CA")}), ServerAccess("https://h:1", ca="CA")),
        (config({"insecure-skip-tls-verify": True}), ServerAccess("https://h:1", insecure=True)),
        (config(context={"namespace": "ns"}), ServerAccess("https://h:1", namespace="ns")),
        (config(context={"user": None}), ServerAccess("https://h:1")),
        (
            config(user={"client-certificate-data": b64("C"), "client-key-data": b64("K")}),
            ServerAccess("https://h:1", client_certificate="C", client_key="K"),
        ),
    ],
)
def test_what_others_wrote_is_understood(text: str, expected: ServerAccess) -> None:
    assert parse(text, HERE) == expected


def test_files_are_found_beside_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("CA")
    (tmp_path / "token").write_text("t\n")
    path = tmp_path / "kubeconfig"
    path.write_text(config({"certificate-authority": "ca.pem"}, {"tokenFile": "token"}))
    assert load(path) == ServerAccess("https://h:1", ca="CA", token="t")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no kubeconfig"),
        ("- a", "no kubeconfig"),
        ("{a: b", "is not YAML"),
        ("a: 1", "no current-context"),
        (config(**{"current-context": "other"}), "no context named 'other'"),
        (config(clusters=[]), "no cluster named 'k'"),
        (config(users="none"), "no user named 'u'"),
        (config({"server": "h:1"}), "must be an http:// or https:// address"),
        (config({"server": None}), "must be an http:// or https:// address"),
        (config({"certificate-authority-data": "%%"}), "is not base64"),
        (config({"certificate-authority": "absent.pem"}), "cannot read its certificate-authority"),
        (config(user={"exec": {"command": "x"}}), "signs in with a plugin"),
        (config(user={"token": "a\r\nx-evil: b"}), "not one line of plain text"),
        (config({"server": "https://h:x"}), "no valid port"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as refused:
        parse(text, HERE)
    assert str(HERE) in str(refused.value)


def test_an_absent_file_is_told_with_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fairlead up"):
        load(tmp_path / "absent")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="is not text"):
        load(tmp_path / "binary")


@pytest.mark.parametrize(("host", "url"), [("127.0.0.1", "https://127.0.0.1:1"), ("::1", "https://[::1]:1")])
def test_addresses(host: str, url: str) -> None:
    assert server_url(host, 1) == url
