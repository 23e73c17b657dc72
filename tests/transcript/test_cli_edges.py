"""What a transcript cannot show: signals, pipes, terminals, imports, and how options reach the server."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.cli import audit, decisions, output
from fairlead.cli.about import asked_about
from fairlead.cli.client import find_kubeconfig
from fairlead.cli.log_lines import LogLines
from fairlead.cli.main import main
from fairlead.core.errors import UsageError
from fairlead.runtime.server.settings import ServeSettings

COMMAND = [sys.executable, "-m", "fairlead.cli.main"]
SOURCE = str(Path(__file__).parents[2] / "src")
ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE, "TERM": "xterm"}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [(["help"], ["--help"]), (["help", "drain"], ["drain", "--help"]), (["--version"], ["version"])],
)
def test_help_and_version_are_also_found_where_other_commands_have_them(
    typed: list[str], meant: list[str]
) -> None:
    ran = [
        subprocess.run([*COMMAND, *words], env=ENVIRONMENT, capture_output=True, text=True)
        for words in (typed, meant)
    ]
    assert ran[0].returncode == 0
    assert ran[0].stdout == ran[1].stdout != ""


def serve_with(monkeypatch: pytest.MonkeyPatch, run: Callable[[ServeSettings], int]) -> None:
    server = types.SimpleNamespace(run=lambda settings, agents=None: run(settings))
    monkeypatch.setitem(sys.modules, "fairlead.runtime.server.process", server)
    monkeypatch.setattr("fairlead.runtime.server.process", server, raising=False)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["up"], ServeSettings(Path("fairlead-data"), "127.0.0.1", 7443, True)),
        (["serve"], ServeSettings(Path("fairlead-data"), "127.0.0.1", 7443, False)),
        (
            ["up", "--data-dir", "d", "--port", "0", "--listen", "::1"],
            ServeSettings(Path("d"), "::1", 0, True),
        ),
        (
            ["serve", "--listen", "0.0.0.0", "--listen-anywhere"],
            ServeSettings(Path("fairlead-data"), "0.0.0.0", 7443, False),
        ),
        (["up", "--listen", "localhost"], ServeSettings(Path("fairlead-data"), "localhost", 7443, True)),
    ],
)
def test_options_reach_the_server_and_its_exit_code_reaches_the_shell(
    arguments: list[str], expected: ServeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[ServeSettings] = []

    def run(settings: ServeSettings) -> int:
        started.append(settings)
        return 4

    serve_with(monkeypatch, run)
    assert main(arguments) == 4
    assert started == [expected]


def raising(error: BaseException) -> Callable[[ServeSettings], int]:
    def run(settings: ServeSettings) -> int:
        raise error

    return run


def test_an_unexpected_error_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FAIRLEAD_DEBUG", raising=False)
    serve_with(monkeypatch, raising(ZeroDivisionError("one\ntwo")))
    assert main(["up"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("fairlead: unexpected ZeroDivisionError (one)")
    assert "FAIRLEAD_DEBUG=1" in line


def test_with_debugging_the_error_is_shown_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLEAD_DEBUG", "1")
    serve_with(monkeypatch, raising(ZeroDivisionError("one")))
    with pytest.raises(ZeroDivisionError):
        main(["up"])


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    serve_with(monkeypatch, raising(KeyboardInterrupt()))
    assert main(["up"]) == 130
    assert capsys.readouterr().err == ""


def test_a_closed_pipe_is_quiet() -> None:
    program = "import sys; from fairlead.cli.main import main; input(); sys.exit(main(['version']))"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, told = process.communicate(b"\n", timeout=60)
    assert (process.returncode, told) == (141, b"")


def on_a_terminal(environment: dict[str, str], program: str) -> bytes:
    controller, terminal = pty.openpty()
    subprocess.run([sys.executable, "-c", program], stdout=terminal, env=environment, check=True, timeout=60)
    os.close(terminal)
    written = os.read(controller, 4096)
    os.close(controller)
    return written


TABLE = "from fairlead.cli.output import print_table; print_table(['A'], [['b']])"


@pytest.mark.parametrize(
    ("closed", "code", "said"),
    [(">&-", 0, ""), ("2>&-", 0, ""), (">/dev/full", 1, "could not be written: No space left on device")],
)
def test_output_that_goes_nowhere_is_no_reason_for_a_traceback(closed: str, code: int, said: str) -> None:
    shell = f'"$0" -m fairlead.cli.main version {closed}'
    done = subprocess.run(
        ["sh", "-c", shell, sys.executable], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr


def test_colour_is_for_terminals_that_want_it(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = {key: value for key, value in ENVIRONMENT.items() if key != "NO_COLOR"}
    assert b"\x1b[1mA" in on_a_terminal(wanted, TABLE)
    assert b"\x1b" not in on_a_terminal({**wanted, "NO_COLOR": "1"}, TABLE)
    assert b"\x1b" not in on_a_terminal({**wanted, "TERM": "dumb"}, TABLE)
    output.print_table(["A"], [["b"]])
    assert capsys.readouterr().out == "A\nb\n"


HEAVY = ("ssl", "http.client", "yaml", "msgspec", "asyncio", "cryptography", "apsw", "uvicorn", "json")


@pytest.mark.parametrize("arguments", [["--help"], ["up", "--help"], ["backup", "--help"]])
def test_help_answers_without_loading_what_it_does_not_need(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom fairlead.cli.main import main\n"
        f"try:\n main({arguments!r})\nexcept SystemExit:\n pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=True,
        timeout=60,
    )
    loaded = [] if arguments == ["--help"] else ["json"]
    assert done.stderr.strip() in (str([]), str(loaded))


def test_the_kubeconfig_is_looked_up_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, default = Path("first"), Path("second"), Path("fairlead-data/kubeconfig")
    listed = {"KUBECONFIG": f"{first}{os.pathsep}{second}"}
    with pytest.raises(UsageError, match="fairlead up"):
        find_kubeconfig(None, {})
    default.parent.mkdir()
    default.write_text("")
    assert find_kubeconfig(None, {}) == default
    with pytest.raises(UsageError, match="first, which does not exist"):
        find_kubeconfig(None, listed)
    second.write_text("")
    assert find_kubeconfig(None, listed) == second
    first.write_text("")
    assert find_kubeconfig(None, listed) == first
    assert find_kubeconfig(Path("named"), listed) == Path("named")


class Log:
    """A client whose audit log grows by one record with each question, and is read page by page."""

    def __init__(self, size: int) -> None:
        self.size = size

    def get(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        after, limit = int(query["after"]), int(query["limit"])
        numbers = range(after + 1, min(after + limit, self.size) + 1)
        return {"items": [{"sequence": n, "record": {"user": f"u{n}", "verb": "create"}} for n in numbers]}


def test_a_long_log_is_read_to_its_end() -> None:
    assert [item["sequence"] for item in LogLines(Log(2500), "").read()] == list(range(1, 2501))  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["table", "json"])
def test_following_shows_what_comes_and_repeats_nothing(
    form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log(1)

    def pause(seconds: float) -> None:
        log.size += 1
        if log.size > 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", pause)
    wanted = audit.AuditFilter("", "", asked_about(log, "", None))  # type: ignore[arg-type]
    lines = LogLines(log, "")  # type: ignore[arg-type]
    first = list(lines.read())
    with pytest.raises(KeyboardInterrupt):
        audit._follow(lines, wanted, first, form)
    shown = capsys.readouterr().out
    assert [shown.count(f"u{number}") for number in range(1, 6)] == [1, 1, 1, 1, 0]


class Backwards:
    """A client whose log is read from its end."""

    def get(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        before, limit = int(query["before"]) or 2501, int(query["limit"])
        return {"items": [{"sequence": n} for n in range(max(1, before - limit), before)]}


def test_a_long_log_is_read_from_its_end() -> None:
    found = [item["sequence"] for item in LogLines(Backwards(), "").newest_first()]  # type: ignore[arg-type]
    assert found == list(range(2500, 0, -1))


def test_a_decision_shows_the_values_that_it_rests_on() -> None:
    used = {
        "metric": "cpu resource",
        "target": {"averageValue": "50m"},
        "current": {"averageValue": "90m"},
        "replicas": 4,
    }
    forbade = {"forbade": "ReplicasBlocked", "wanted": 4}
    record = {
        "time": "t",
        "controller": "autoscaler",
        "object": "o",
        "verdict": "Waiting",
        "message": "2 wait",
    }
    *_, detail = decisions._row({**record, "inputs": [used, forbade]})
    assert detail == "2 wait (cpu resource: 90m of 50m, 4 wanted)"
    *_, alone = decisions._row({**record, "message": "", "inputs": [used]})
    assert alone == "cpu resource: 90m of 50m, 4 wanted"
