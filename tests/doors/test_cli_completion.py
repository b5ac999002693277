"""Completion as a shell asks for it."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tests.doors.command_line import PATIENCE, ROUNDTABLE, Cli
from tests.doors.scripted_seats import council_seat


def completed(cli: Cli, *words: str) -> list[str]:
    """What bash would offer for the last of these words."""
    environment = {"_ROUNDTABLE_COMPLETE": "bash_complete", "COMP_CWORD": str(len(words))}
    process = subprocess.run(
        ROUNDTABLE,
        cwd=cli.work,
        env={**cli.env, **environment, "COMP_WORDS": " ".join(("roundtable", *words))},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert process.stderr == ""
    return [line.partition(",")[2] for line in process.stdout.splitlines() if line]


def test_the_shell_completes_commands_and_options(cli: Cli) -> None:
    assert completed(cli, "dec") == ["decrees"]
    assert "--follow-up-once" in completed(cli, "ask", "--")
    assert completed(cli, "discuss", "--me") == ["--meeting"]


def test_the_shell_completes_session_names_and_slugs_without_anything_it_would_execute(cli: Cli) -> None:
    assert completed(cli, "show", "") == []
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"))
    cli.run("discuss", "REST?", "--session", "api", *seats)
    cli.run("discuss", "REST again?", "--session", "$(touch x)", *seats)
    slugs = [load["slug"] for load in json.loads(cli.run("list", "--json").stdout)["sessions"]]
    assert completed(cli, "show", "") == ["last", slugs[0], "api", slugs[1]]
    assert completed(cli, "watch", "ap") == ["api"]
    assert completed(cli, "discuss", "--session", "a") == ["api"]


def test_the_shell_completes_meetings_and_seats(cli: Cli) -> None:
    assert completed(cli, "discuss", "--meeting", "k") == ["knights"]
    cli.run("config", "set", "seats.claude.voices", "cli:claude")
    assert completed(cli, "ask", "--seat", "cl") == ["claude"]


def test_completing_imports_only_what_it_needs(cli: Cli) -> None:
    looks = (
        "import sys; from roundtable.app.desk import Setup; "
        "Setup.suggest('sessions'); Setup.suggest('seats'); print(*sys.modules)"
    )
    process = subprocess.run(
        [ROUNDTABLE[0], "-c", looks], cwd=cli.work, env=cli.env, capture_output=True, text=True, check=True
    )
    assert {"asyncio", "sqlalchemy", "httpx2", "rich"}.isdisjoint(process.stdout.split())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_valid_shell_code(cli: Cli, shell: str) -> None:
    script = cli.run("completion", shell).stdout
    assert "_ROUNDTABLE_COMPLETE" in script
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=script, text=True, check=True, timeout=PATIENCE)


def test_an_unsupported_shell_is_refused_with_the_supported_ones(cli: Cli) -> None:
    assert "'bash', 'zsh', 'fish'" in cli.run("completion", "cmd", code=2).stderr
