"""What a start makes in a data directory, what it keeps, and what it says about damage."""

from __future__ import annotations

import json
import ssl
import stat
import sys
from pathlib import Path

import pytest

from fairlead.core.errors import DataDirectoryError, FormatError, NotFound, UsageError
from fairlead.runtime.credentials import identity, kubeconfig
from fairlead.runtime.credentials.token_file import TokenFile
from fairlead.runtime.private_files import write_private

NOW = 1_800_000_000.0
DAY = 86_400.0


def snapshot(directory: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()
    }


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    identity.ensure(directory, "127.0.0.1", 7443, NOW)
    return directory


def test_the_first_start_makes_everything_for_its_owner_only(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "data"
    made = identity.ensure(directory, "127.0.0.1", 7443, NOW)
    assert made.created
    names = set(snapshot(directory))
    assert names == {"kubeconfig"} | {
        f"identity/{name}"
        for name in (
            "accounts.key",
            "ca.crt",
            "ca.key",
            "plane.crt",
            "plane.key",
            "plane.json",
            "server.crt",
            "server.key",
            "server.json",
            "tokens.json",
            "tokens.lock",
        )
    }
    for name in names:
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_the_admins_token_is_in_the_kubeconfig_and_nowhere_else(data_dir: Path) -> None:
    connection = kubeconfig.load(data_dir / "kubeconfig")
    user = identity.of(data_dir).tokens.tokens().authenticate(f"Bearer {connection.token}")
    assert (user.name, user.role) == ("admin", "admin")
    holders = [name for name, content in snapshot(data_dir).items() if connection.token.encode() in content]
    assert holders == ["kubeconfig"]


def test_the_next_start_changes_nothing_and_does_without_the_certificate_maker(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(data_dir)
    monkeypatch.setitem(sys.modules, "fairlead.runtime.credentials.certificates", None)
    monkeypatch.setitem(sys.modules, "yaml", None)
    again = identity.ensure(data_dir, "127.0.0.1", 7443, NOW + DAY)
    assert not again.created
    assert snapshot(data_dir) == before


def handshake(server: identity.Identity, hostname: str) -> None:
    """A TLS handshake in memory, as a client of the kubeconfig does it."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(server.server_certificate, server.server_key)
    asking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asking.load_verify_locations(cadata=kubeconfig.load(server.kubeconfig).ca)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = asking.wrap_bio(to_client, to_server, server_hostname=hostname)
    peer = serving.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (client, peer):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue


@pytest.fixture
def today(tmp_path: Path) -> identity.Identity:
    """Made now, because TLS compares certificates with the real clock."""
    import time

    return identity.ensure(tmp_path / "today", "10.1.2.3", 7443, time.time())


@pytest.mark.parametrize("hostname", ["localhost", "127.0.0.1", "::1", "10.1.2.3"])
def test_clients_trust_the_server_under_its_names(today: identity.Identity, hostname: str) -> None:
    handshake(today, hostname)


def test_and_under_no_other(today: identity.Identity) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(today, "example.com")


def changed_by(data_dir: Path, host: str, now: float) -> set[str]:
    before = snapshot(data_dir)
    identity.ensure(data_dir, host, 7443, now)
    after = snapshot(data_dir)
    return {name for name in after if after[name] != before.get(name)}


SERVER_FILES = {"identity/server.crt", "identity/server.key", "identity/server.json"}
PLANE_FILES = {"identity/plane.crt", "identity/plane.key", "identity/plane.json"}


def test_a_certificate_near_its_end_is_renewed_by_the_same_authority(data_dir: Path) -> None:
    assert changed_by(data_dir, "127.0.0.1", NOW + 334 * DAY) == set()
    assert changed_by(data_dir, "127.0.0.1", NOW + 336 * DAY) == SERVER_FILES | PLANE_FILES


def test_a_running_server_renews_what_is_near_its_end_and_nothing_else(data_dir: Path) -> None:
    found = identity.of(data_dir)
    authority = found.ca_certificate.read_bytes()
    before = found.server_certificate.read_bytes()
    assert not found.renew("127.0.0.1", NOW + 334 * DAY)
    assert found.server_certificate.read_bytes() == before
    assert found.renew("127.0.0.1", NOW + 336 * DAY)
    assert found.server_certificate.read_bytes() != before
    assert found.ca_certificate.read_bytes() == authority
    assert not found.renew("127.0.0.1", NOW + 336 * DAY)


def test_a_new_host_gets_into_the_certificate_and_old_ones_stay(data_dir: Path) -> None:
    assert changed_by(data_dir, "10.1.2.3", NOW) == SERVER_FILES | {"kubeconfig"}
    assert changed_by(data_dir, "0.0.0.0", NOW) == {"kubeconfig"}
    described = json.loads((data_dir / "identity/server.json").read_text())
    assert described["hosts"][:3] == ["localhost", "127.0.0.1", "::1"]
    assert {"10.1.2.3", "kubernetes.default.svc"} <= set(described["hosts"])


def hosts(data_dir: Path) -> set[str]:
    return set(json.loads((data_dir / "identity/server.json").read_text())["hosts"])


def test_the_certificate_has_the_address_of_the_servers_own_service_and_of_no_other(data_dir: Path) -> None:
    found = identity.of(data_dir)
    assert found.renew("127.0.0.1", NOW, "127.96.3.4")
    assert not found.renew("127.0.0.1", NOW, "127.96.3.4")
    assert not found.renew("127.0.0.1", NOW, ""), "a Service that is gone for a while"
    assert "127.96.3.4" in hosts(data_dir)
    assert changed_by(data_dir, "127.0.0.1", NOW) == set(), "the next start keeps it"
    key = data_dir / "identity/ca.key"
    key.rename(data_dir / "elsewhere")
    assert not found.renew("127.0.0.1", NOW, "127.96.9.9"), "without the authority's key it is left as it is"
    (data_dir / "elsewhere").rename(key)
    assert found.renew("127.0.0.1", NOW, "127.96.9.9")
    assert "127.96.9.9" in hosts(data_dir)
    assert "127.96.3.4" not in hosts(data_dir)


@pytest.mark.parametrize("name", ["server.crt", "server.key", "server.json"])
@pytest.mark.parametrize("damage", [b"", b"torn", None])
def test_a_damaged_server_certificate_is_made_anew(data_dir: Path, name: str, damage: bytes | None) -> None:
    path = data_dir / "identity" / name
    path.unlink() if damage is None else path.write_bytes(damage)
    assert changed_by(data_dir, "127.0.0.1", NOW) == SERVER_FILES


@pytest.mark.parametrize("name", ["plane.crt", "plane.key", "plane.json"])
@pytest.mark.parametrize("damage", [b"", b"torn", None])
def test_a_damaged_certificate_of_the_plane_is_made_anew(
    data_dir: Path, name: str, damage: bytes | None
) -> None:
    path = data_dir / "identity" / name
    path.unlink() if damage is None else path.write_bytes(damage)
    assert changed_by(data_dir, "127.0.0.1", NOW) == PLANE_FILES


@pytest.mark.parametrize("damage", [b"torn", None])
def test_without_a_good_authority_there_is_no_certificate_of_the_plane_and_it_serves(
    data_dir: Path, damage: bytes | None
) -> None:
    for name in PLANE_FILES:
        (data_dir / name).unlink()
    key = data_dir / "identity/ca.key"
    key.unlink() if damage is None else key.write_bytes(damage)
    assert changed_by(data_dir, "127.0.0.1", NOW) == set()
    assert not identity.of(data_dir).plane_certificate.exists()


@pytest.mark.parametrize("damage", [b"torn", None])
def test_a_damaged_authority_is_reported_when_it_is_needed(data_dir: Path, damage: bytes | None) -> None:
    key = data_dir / "identity/ca.key"
    key.unlink() if damage is None else key.write_bytes(damage)
    assert changed_by(data_dir, "127.0.0.1", NOW) == set()
    with pytest.raises(DataDirectoryError, match=r"remove ca\.crt to make a new"):
        identity.ensure(data_dir, "10.1.2.3", 7443, NOW)


def test_the_kubeconfig_follows_the_port_and_keeps_its_token(data_dir: Path) -> None:
    token = kubeconfig.load(data_dir / "kubeconfig").token
    identity.ensure(data_dir, "::1", 8443, NOW)
    connection = kubeconfig.load(data_dir / "kubeconfig")
    assert (connection.server, connection.token) == ("https://[::1]:8443", token)


def test_a_lost_kubeconfig_gets_a_new_token_and_the_old_one_stops_working(data_dir: Path) -> None:
    old = kubeconfig.load(data_dir / "kubeconfig").token
    (data_dir / "kubeconfig").unlink()
    tokens = identity.ensure(data_dir, "127.0.0.1", 7443, NOW).tokens.tokens()
    assert tokens.user_of(old) is None
    assert tokens.user_of(kubeconfig.load(data_dir / "kubeconfig").token) is not None


def test_a_lost_token_table_lets_the_kubeconfig_in_again(data_dir: Path) -> None:
    token = kubeconfig.load(data_dir / "kubeconfig").token
    (data_dir / "identity/tokens.json").unlink()
    assert identity.ensure(data_dir, "127.0.0.1", 7443, NOW).tokens.tokens().user_of(token) is not None


def test_a_revoked_admin_token_stays_out(data_dir: Path) -> None:
    table = identity.of(data_dir).tokens
    table.create("viewer", "eve", NOW)
    old = kubeconfig.load(data_dir / "kubeconfig").token
    table.revoke("admin")
    assert identity.ensure(data_dir, "127.0.0.1", 7443, NOW).tokens.tokens().user_of(old) is None


def test_a_damaged_kubeconfig_is_reported_with_the_way_out(data_dir: Path) -> None:
    (data_dir / "kubeconfig").write_text("{nonsense")
    with pytest.raises(DataDirectoryError, match="remove it, and the next start writes a new one"):
        identity.ensure(data_dir, "127.0.0.1", 7443, NOW)


def test_a_directory_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataDirectoryError, match="--data-dir"):
        identity.ensure(tmp_path / "file", "127.0.0.1", 7443, NOW)


def test_a_failed_replacement_leaves_the_old_file_and_no_rubbish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_private(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataDirectoryError, match="No space left"):
        write_private(path, b"new")
    assert snapshot(tmp_path) == {"file": b"old"}


def test_the_key_of_the_accounts_is_kept_and_made_anew_when_it_was_removed(data_dir: Path) -> None:
    made = identity.of(data_dir)
    key = made.signing_key()
    assert identity.ensure(data_dir, "127.0.0.1", 7443, NOW).signing_key() == key
    made.signing_key_file.unlink()
    new = identity.ensure(data_dir, "127.0.0.1", 7443, NOW).signing_key()
    assert (len(new), new != key) == (32, True)


@pytest.mark.parametrize("damage", [b"", b"short"])
def test_a_damaged_key_of_the_accounts_is_reported_with_the_way_out(data_dir: Path, damage: bytes) -> None:
    write_private(data_dir / "identity/accounts.key", damage)
    made = identity.ensure(data_dir, "127.0.0.1", 7443, NOW)
    with pytest.raises(DataDirectoryError, match=r"accounts\.key is damaged: restore it .* or remove it"):
        made.signing_key()


# The token table.


@pytest.fixture
def table(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens.json")


def test_a_created_token_works_until_it_is_revoked(table: TokenFile) -> None:
    token = table.create("node", "n1", NOW)
    assert table.tokens().user_of(token).node_name == "n1"  # type: ignore[union-attr]
    assert token not in table.path.read_text()
    assert table.revoke("n1").role == "node"
    assert table.tokens().user_of(token) is None


def test_a_change_is_noticed_once(table: TokenFile) -> None:
    server = TokenFile(table.path)
    assert server.tokens().user_of("x") is None
    assert server.changed() is None
    token = table.create("viewer", "eve", NOW)
    changed = server.changed()
    assert changed is not None
    assert changed.user_of(token).role == "viewer"  # type: ignore[union-attr]
    assert server.changed() is None


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("viewer", ""),
        ("viewer", "system:masters"),
        ("viewer", "a b"),
        ("viewer", "-a"),
        ("viewer", "x" * 200),
        ("node", "Upper"),
        ("node", "a_b"),
        ("node", "n1\n"),
    ],
)
def test_names_that_could_be_mistaken_are_refused(table: TokenFile, role: str, name: str) -> None:
    with pytest.raises(UsageError, match="is not a name"):
        table.create(role, name, NOW)
    assert not table.path.exists()


def test_a_name_is_given_once(table: TokenFile) -> None:
    table.create("viewer", "eve", NOW)
    with pytest.raises(UsageError, match="fairlead token revoke eve"):
        table.create("admin", "eve", NOW)
    assert [entry.role for entry in table.entries()] == ["viewer"]


def test_revoking_what_is_not_there_says_so(table: TokenFile) -> None:
    with pytest.raises(NotFound, match="fairlead token list"):
        table.revoke("nobody")


ENTRY = {"name": "a", "role": "admin", "digest": "0" * 64, "created": "t"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": 1}',
        json.dumps({"format": 1, "tokens": [{}]}),
        json.dumps({"format": 1, "tokens": [ENTRY | {"role": "king"}]}),
        json.dumps({"format": 1, "tokens": [ENTRY | {"digest": "plain-token"}]}),
        json.dumps({"format": 1, "tokens": [ENTRY | {"digest": 5}]}),
    ],
)
def test_a_damaged_table_is_reported_with_the_way_out(table: TokenFile, content: str) -> None:
    table.path.write_text(content)
    with pytest.raises(DataDirectoryError, match="is damaged"):
        table.tokens()


def test_a_newer_table_is_refused(table: TokenFile) -> None:
    table.path.write_text('{"format": 3, "tokens": []}')
    with pytest.raises(FormatError, match="newer"):
        table.entries()


def test_what_its_owner_changed_in_the_kubeconfig_is_kept_while_it_leads_here(data_dir: Path) -> None:
    path = identity.of(data_dir).kubeconfig
    changed = path.read_text().replace(
        "    cluster: fairlead\n", "    cluster: fairlead\n    namespace: team\n"
    )
    path.write_text(changed)
    identity.ensure(data_dir, "127.0.0.1", 7443, NOW + DAY)
    assert path.read_text() == changed
    identity.ensure(data_dir, "127.0.0.1", 8443, NOW + DAY)
    assert "https://127.0.0.1:8443" in path.read_text(), "the address must follow the truth"
