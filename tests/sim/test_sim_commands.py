"""`fairlead sim run --search --shrink --artifacts`, `replay`, `show`, `test` and `zoo`: what they print, write and
return, and that whatever is wrong is a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead.cli.main import main
from fairlead.replay.artifact import FORMAT, read_artifact, write_artifact
from fairlead.sim import zoo
from fairlead.sim.worlds.roster import WORLDS
from tests.sim import tiny
from tests.sim.artifacts import planted_artifact, run_seed

Printed = pytest.CaptureFixture[str]
NAME = "timeout_read_as_failure"


@pytest.fixture(autouse=True)
def tiny_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORLDS, "tiny", (tiny.scenario, tiny.FAULTS))
    monkeypatch.setitem(zoo.WORLD_OF, NAME, "tiny")


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    file = tmp_path / "kept.jsonl"
    file.write_bytes(write_artifact(planted_artifact()))
    return file


def run(*words: object) -> int:
    return main(["sim", *map(str, words)])


def said(capsys: Printed) -> str:
    """The one sentence of an error."""
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("fairlead: ")
    assert "defect" not in printed.err
    assert printed.err.count("\n") == 1
    return printed.err


def test_a_failure_is_explained_shrunk_and_kept(tmp_path: Path, capsys: Printed) -> None:
    kept, seed = tmp_path / "kept", run_seed()
    words = ("--world", "tiny", "--plant", tiny.PLANT, "--seeds", 1, "--seed", seed)
    assert run("run", *words, "--shrink", 20, "--artifacts", kept) == 1
    told = capsys.readouterr().out
    file = kept / f"tiny-{tiny.BROKEN}.jsonl"
    assert f"seed {seed}: {tiny.BROKEN}: " in told
    assert f"again: fairlead sim replay {file}" in told
    assert all(
        f"\n  {word} " in told for word in ("shrunk", "what", "written", "decided", "faults", "causes")
    )
    head = read_artifact(file.read_bytes()).head
    assert (head.seed, head.world, head.plant, head.search) == (seed, "tiny", tiny.PLANT, "uniform")
    assert head.shrunk_from > 50
    assert run("replay", file) == 0
    assert "the same run to the last byte" in capsys.readouterr().out
    assert run("run", *words, "--shrink", 0) == 1  # not at all
    told = capsys.readouterr().out
    assert "shrunk" not in told
    assert f"again: fairlead sim run --seeds 1 --seed {seed} --world tiny --plant" in told


def test_a_search_says_what_it_tried_and_how_to_see_it_again(tmp_path: Path, capsys: Printed) -> None:
    words = ("--world", "tiny", "--plant", tiny.PLANT, "--seeds", 60, "--search", "planned", "-o", "json")
    assert run("run", *words, "--artifacts", tmp_path) == 1
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["seeds"] == 60
    [file] = tmp_path.iterdir()
    assert told["failures"][0]["again"] == f"fairlead sim replay {file}"
    assert {each["again"] for each in told["failures"][1:]} <= {
        f"fairlead sim run --seeds 60 --search planned --seed 0 --world tiny --plant {tiny.PLANT}"
    }
    head = read_artifact(file.read_bytes()).head
    assert head.search == "planned"
    assert "plane-" in head.tried


def test_a_replay_says_whether_it_is_the_same(artifact: Path, capsys: Printed) -> None:
    assert run("replay", artifact, "-o", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["same"] is True
    assert told["digest"] == planted_artifact().head.digest
    assert told["violation"].startswith(f"{tiny.BROKEN}: ")
    assert told["divergence"] is None
    assert run("replay", artifact, "--unplanted", "-o", "json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["same"], told["violation"]) == (False, "")
    assert told["divergence"].keys() == {"step", "recorded", "now"}
    assert run("replay", artifact, "--plant", "tests.sim.plants:nothing") == 1
    told = capsys.readouterr().out
    assert "not the same run (recorded first, then as it is now): step " in told
    assert f"now it breaks nothing (recorded: {tiny.BROKEN})" in told
    assert "recorded by fairlead " in told


def test_show_tells_what_happened_and_draws_it(artifact: Path, tmp_path: Path, capsys: Printed) -> None:
    assert run("show", artifact) == 0
    brief = capsys.readouterr().out
    assert brief.startswith(f"{tiny.BROKEN} was broken after ")
    assert " plane-0 " in brief
    assert "Listed []" not in brief
    assert run("show", artifact, "--all") == 0
    assert len(capsys.readouterr().out) > len(brief)
    page = tmp_path / "page.html"
    assert run("show", artifact, "--html", page) == 0
    assert f"<title>tiny: {tiny.BROKEN}</title>" in page.read_text(encoding="utf-8")


def test_the_test_that_is_written_runs(artifact: Path, tmp_path: Path, capsys: Printed) -> None:
    (tmp_path / "elsewhere").mkdir()
    for more in ((), ("--to", tmp_path / "elsewhere" / "test_it.py")):
        assert run("test", artifact, *more) == 0
    capsys.readouterr()
    written = [tmp_path / "test_kept.py", tmp_path / "elsewhere" / "test_it.py"]
    assert all(file.with_name("kept.jsonl").read_bytes() == artifact.read_bytes() for file in written)
    words = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", *map(str, written)]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr
    assert run("test", artifact) == 1
    assert "test_kept.py is there already" in said(capsys)


def test_the_zoo_tells_what_each_hunt_cost(tmp_path: Path, capsys: Printed) -> None:
    words = (NAME, "--cpu", 30, "--search", "uniform", "--artifacts", tmp_path, "--no-shrink")
    assert run("zoo", *words, "-o", "json", "--jobs", 2) == 0
    [row] = json.loads(capsys.readouterr().out)
    wanted = {"name", "found", "cpu_seconds", "seeds", "invariant", "shrunk_from", "shrunk_to"}
    assert wanted <= row.keys()
    assert (row["name"], row["found"], row["invariant"]) == (NAME, True, tiny.BROKEN)
    assert row["seeds"] == run_seed() + 1
    assert row["cpu_seconds"] > 0
    assert read_artifact((tmp_path / f"{NAME}.jsonl").read_bytes()).head.seed == run_seed()
    assert run("zoo", NAME, "--cpu", 0, "-o", "json") == 1  # no time: not found
    [row] = json.loads(capsys.readouterr().out)
    assert (row["found"], row["seeds"], row["shrunk_to"]) == (False, 0, 0)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("replay", "{folder}/none.jsonl"), 2, "none.jsonl cannot be read: no such file"),
        (("show", "{folder}"), 2, "cannot be read: is a directory"),
        (("replay", "{cut}"), 2, "is cut off"),
        (("show", "{later}"), 5, "this release reads format"),
        (("test", "{text}"), 2, "text.jsonl: the file is no artifact"),
        (("replay", "{kept}", "--plant", "no.such:plant"), 2, "cannot be loaded"),
        (
            ("show", "{kept}", "--html", "{folder}/no/page.html"),
            1,
            "page.html cannot be written: No such file",
        ),
        (("test", "{kept}", "--to", "{folder}/no/test_x.py"), 1, "test_x.py cannot be written: No such file"),
        (("run", "--artifacts", "{kept}/below"), 1, "below cannot be made: Not a directory"),
        (("run", "--artifacts", "{kept}"), 1, "cannot be made: File exists"),
        (("run", "--shrink", "soon"), 2, "'soon' is not a number of seconds"),
        (("run", "--shrink", "nan"), 2, "seconds are at least 0"),
        (("zoo", "--cpu=-1"), 2, "seconds are at least 0"),
        (("zoo", "no_such_plant"), 2, 'no plant is called "no_such_plant"'),
        (("run", "--search", "luck"), 2, "invalid choice: 'luck'"),
        (("run", "--plant", "no.such:plant"), 2, "cannot be loaded"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    words: tuple[str, ...], code: int, sentence: str, artifact: Path, tmp_path: Path, capsys: Printed
) -> None:
    data = artifact.read_bytes()
    (tmp_path / "cut.jsonl").write_bytes(data[: len(data) // 2])
    (tmp_path / "later.jsonl").write_bytes(data.replace(b'"format":%d' % FORMAT, b'"format":9', 1))
    (tmp_path / "text.jsonl").write_bytes(b"hello\n")
    places = {each: tmp_path / f"{each}.jsonl" for each in ("kept", "cut", "later", "text")}
    assert run(*(word.format(folder=tmp_path, **places) for word in words)) == code
    assert sentence in said(capsys)
