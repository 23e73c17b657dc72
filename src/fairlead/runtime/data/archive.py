"""A backup is one file: a tar with a manifest, then the database and the identity, each with its SHA-256.

    manifest.json            when, by which version, revision, objects per resource, digests of files
    store.db                 a consistent copy, made while the server may be writing, and checked
    FORMAT                   version of the directory's layout
    identity/*, kubeconfig   keys and token digests: a restored server is the same server to its clients

`fairlead backup` and `fairlead restore` call this. A target appears only when it is complete: a backup by the
rename of a file, a restored directory by the rename of a directory. Both hold secrets: owner only.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from fairlead import __version__
from fairlead.core.errors import DataDirectoryError, FormatError, UsageError
from fairlead.core.times import timestamp
from fairlead.runtime.data.revision_mark import write_closed_mark
from fairlead.runtime.private_files import OWNER_ONLY, sync_directory, unwritable_error
from fairlead.store import database_files as database
from fairlead.store.contract import Recovered

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE_FILE, LAYOUT_FILE = "store.db", "FORMAT"  # as `directory.py` names them
_MANIFEST_BYTES_MAX = 1024 * 1024
_CHUNK = 1024 * 1024
_IDENTITY = (
    "identity/ca.crt",
    "identity/ca.key",
    "identity/server.crt",
    "identity/server.key",
    "identity/server.json",
    "identity/tokens.json",
    "identity/accounts.key",
    "kubeconfig",
)
_KNOWN = frozenset((DATABASE_FILE, LAYOUT_FILE, *_IDENTITY))


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds, as its first member says and as the commands report it."""

    format: int
    created: str
    version: str
    revision: int
    objects: dict[str, int]
    files: dict[str, str]  # name -> SHA-256


def write_backup(data_dir: Path, target: Path, now: float) -> Manifest:
    """Copy a data directory, in use or not, into one file that must not exist yet."""
    source = data_dir / DATABASE_FILE
    for name in (DATABASE_FILE, LAYOUT_FILE):
        if not (data_dir / name).is_file():
            raise DataDirectoryError(f"{data_dir} holds no {name}: name a data directory with --data-dir")
    if target.exists():
        raise UsageError(f"{target} exists already: name a file that does not, or remove it")
    if not target.absolute().parent.is_dir():
        raise UsageError(f"cannot write {target}: there is no directory {target.parent}; make it first")
    try:
        with tempfile.TemporaryDirectory(prefix=".fairlead-backup-", dir=target.absolute().parent) as staging:
            copy = Path(staging, DATABASE_FILE)
            database.backup(str(source), str(copy))
            recovered = database.read_backup(str(copy))
            sources = {DATABASE_FILE: copy} | _copied(data_dir, Path(staging))
            manifest = Manifest(
                format=FORMAT,
                created=timestamp(now),
                version=__version__,
                revision=recovered.revision,
                objects=_counted(recovered.entries),
                files={name: _digest(path) for name, path in sources.items()},
            )
            packed = Path(staging, "backup.tar")
            _pack(packed, manifest, sources, now)
            packed.rename(target)
        sync_directory(target.absolute().parent)
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror}; name another file") from error
    return manifest


def restore_backup(source: Path, data_dir: Path) -> Manifest:
    """Check everything, then make the directory. On any problem nothing is left behind."""
    if data_dir.exists() and (not data_dir.is_dir() or any(data_dir.iterdir())):
        raise UsageError(
            f"{data_dir} is not empty: restore into a new directory, or move this one away first"
        )
    parent = data_dir.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".fairlead-restore-", dir=parent))
        try:
            manifest, recovered = _checked(source, staging)
            if (staging / LAYOUT_FILE).read_bytes().strip() != b"1":  # an upgrade makes its own
                write_closed_mark(staging, recovered.revision)
            staging.replace(data_dir)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise
        sync_directory(parent)
    except OSError as error:
        raise unwritable_error(data_dir, error) from error
    return manifest


def read_backup(source: Path) -> tuple[Manifest, Recovered]:
    """Check everything, and tell what it holds; nothing is left behind."""
    with tempfile.TemporaryDirectory(prefix="fairlead-check-") as made:
        return _checked(source, Path(made))


def _checked(source: Path, staging: Path) -> tuple[Manifest, Recovered]:
    manifest = _unpack(source, staging)
    recovered = database.read_backup(str(staging / DATABASE_FILE))
    if (recovered.revision, _counted(recovered.entries)) != (manifest.revision, manifest.objects):
        raise _damaged(source, "the database is not the one the manifest tells of")
    return manifest, recovered


def _copied(data_dir: Path, staging: Path) -> dict[str, Path]:
    """The small files, copied first: whoever replaces one meanwhile must not part it from its digest."""
    copies = {}
    (staging / "identity").mkdir()
    for name in (LAYOUT_FILE, *_IDENTITY):
        if (data_dir / name).is_file():
            copies[name] = shutil.copyfile(data_dir / name, staging / name)
    return copies


def _pack(target: Path, manifest: Manifest, sources: dict[str, Path], now: float) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
            described = json.dumps(asdict(manifest), indent=2).encode()
            archive.addfile(_member(MANIFEST, len(described), now), io.BytesIO(described))
            for name, path in sources.items():
                with path.open("rb") as content:
                    archive.addfile(_member(name, path.stat().st_size, now), content)
        file.flush()
        os.fsync(file.fileno())


def _member(name: str, size: int, now: float) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, OWNER_ONLY, int(now)
    return member


def _unpack(source: Path, staging: Path) -> Manifest:
    """Write every file of the backup below `staging`, durably, having compared its digest."""
    try:
        with tarfile.open(source, mode="r:") as archive:
            first = archive.next()
            if (
                first is None
                or first.name != MANIFEST
                or not first.isreg()
                or first.size > _MANIFEST_BYTES_MAX
            ):
                raise _damaged(source, "it does not start with a manifest")
            content = archive.extractfile(first)
            manifest = _manifest(content.read() if content else b"", source)
            missing = dict(manifest.files)
            while (member := archive.next()) is not None:
                expected = missing.pop(member.name, None)
                if expected is None or not member.isreg():
                    raise _damaged(source, f"it holds {member.name!r}, which its manifest does not tell of")
                if _extract(archive, member, staging / member.name) != expected:
                    raise _damaged(source, f"{member.name} does not have the checksum its manifest gives")
            if missing:
                raise _damaged(source, f"{', '.join(sorted(missing))} is missing")
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no backup at {source}: name a file that `fairlead backup` wrote"
        ) from error
    except (tarfile.TarError, EOFError) as error:
        raise _damaged(source, str(error)) from error
    return manifest


def _manifest(text: bytes, source: Path) -> Manifest:
    try:
        document: Any = json.loads(text)
        version = document["format"]
        if isinstance(version, int) and version > FORMAT:
            raise FormatError(
                f"{source} has backup format {version}, written by a newer Fairlead: use that version"
            )
        manifest = Manifest(**document)
        files = manifest.files
        if not {DATABASE_FILE, LAYOUT_FILE} <= files.keys() <= _KNOWN:
            raise ValueError("unexpected list of files")
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(source, f"its manifest is unreadable: {error}") from error
    return manifest


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> str:
    content = archive.extractfile(member)
    if content is None:
        raise tarfile.ReadError(f"{member.name} has no content")
    target.parent.mkdir(mode=0o700, exist_ok=True)
    digest = sha256()
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    sync_directory(target.parent)
    return digest.hexdigest()


def _counted(entries: tuple[Any, ...]) -> dict[str, int]:
    return dict(sorted(Counter(entry.key.resource for entry in entries).items()))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        digest = sha256()
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _damaged(source: Path, what: str) -> DataDirectoryError:
    return DataDirectoryError(f"{source} is no usable backup ({what}): use another one")
