"""What an agent keeps for the next one is on the disk, whole, and nobody else's to read."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fairlead.agent.contract import Keep
from fairlead.runtime.node.kept_objects import KeptObjects


def test_it_is_read_back_and_private(tmp_path: Path) -> None:
    pod, absent = Keep("pods", "default", "web", b'{"a":1}'), Keep("secrets", "default", "s", b"")

    async def write() -> None:
        kept = KeptObjects(tmp_path / "kept", lambda told: None)
        for each in (
            pod,
            absent,
            Keep("services", "default", "x", b"{}"),
            Keep("services", "default", "x", None),
        ):
            kept.keep(each)
        await kept.close()

    asyncio.run(write())
    kept = KeptObjects(tmp_path / "kept", lambda told: None)
    assert set(kept.load()) == {pod, absent}
    paths = [tmp_path / "kept", *(tmp_path / "kept").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in paths if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in paths if path.is_file()} == {0o600}
    next((tmp_path / "kept" / "pods").iterdir()).write_bytes(b"default/web\n{half")
    assert set(kept.load()) == {absent}


def test_a_disk_that_takes_nothing_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("in the way")
    told: list[str] = []

    async def write() -> None:
        kept = KeptObjects(tmp_path / "kept", told.append)
        kept.keep(Keep("pods", "default", "web", b"{}"))
        while not told:
            await asyncio.sleep(0.01)
        await kept.close()

    asyncio.run(write())
    assert len(told) == 1
