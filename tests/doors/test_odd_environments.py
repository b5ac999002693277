"""A terminal, folder or network setting that is odd: one clear sentence, and never an internal error."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.doors.command_line import PATIENCE, ROUNDTABLE, Cli
from tests.doors.scripted_seats import council_seat

HIDDEN = "\x9b31m\u202egpj.exe\u2066"
"""C1 and direction characters, which JSON does not have to escape."""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def run_in_shell(cli: Cli, words: str, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell with redirections or other words around it."""
    return subprocess.run(
        ["sh", "-c", words, "sh", *ROUNDTABLE, *args],
        cwd=cwd or cli.work,
        env=cli.env,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_a_meeting_is_held_with_closed_standard_streams(cli: Cli, closed: str) -> None:
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"))
    held = run_in_shell(cli, f'"$@" {closed}', "discuss", "Which?", *seats)
    assert held.returncode == 0, held.stderr
    assert "Error" not in held.stderr
    assert "\treached\t" in cli.run("list").stdout


def test_a_deleted_working_folder_is_named(cli: Cli) -> None:
    gone = cli.work.parent / "gone"
    gone.mkdir()
    done = run_in_shell(cli, 'rmdir "$PWD" && "$@"', "list", cwd=gone)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: The current folder no longer exists.\n")
    gone.mkdir()
    elsewhere = run_in_shell(cli, 'rmdir "$PWD" && "$@"', "-C", str(cli.work), "list", cwd=gone)
    assert elsewhere.returncode == 0, elsewhere.stderr


def test_a_folder_whose_name_is_not_utf_8_is_named(cli: Cli) -> None:
    folder = os.fsencode(cli.work) + b"/\xff"
    os.mkdir(folder)
    done = run_in_shell(cli, '"$@"', "list", cwd=Path(os.fsdecode(folder)))
    assert done.returncode == 2
    assert "The path of this folder is not valid UTF-8" in done.stderr


def test_a_file_whose_name_is_not_utf_8_is_refused(cli: Cli) -> None:
    name = os.fsdecode(b"a\xff.txt")
    (cli.work / name).write_text("x")
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"))
    done = run_in_shell(cli, '"$@"', "discuss", "Which?", "--file", name, *seats)
    assert done.returncode == 2
    assert "a file name contains characters that are not valid Unicode" in done.stderr


def test_a_folder_in_place_of_the_config_is_named(cli: Cli) -> None:
    (cli.home / "config.toml").mkdir(parents=True)
    refused = cli.run("discuss", "Which?", *cli.script(a=council_seat("REST")), code=2).stderr
    assert "config.toml is a folder, not a regular file" in refused
    assert "config.toml is a folder, not a regular file" in cli.run("list").stderr


@pytest.mark.parametrize("proxy", ["foo://bar", "http://[::1", "socks5://127.0.0.1:1", "http://me:hunter2hunter2@x\ny"])
def test_an_invalid_proxy_setting_is_named_without_its_value(cli: Cli, proxy: str) -> None:
    cli.env |= {"HTTPS_PROXY": proxy, "OPENAI_API_KEY": "sk-no-such-key-0000000000000000"}
    command = ("discuss", "Which?", "--seat", "a=openai:gpt-4o", "--budget-usd", "1")
    refused = cli.run_program(*command, code=2).stderr
    assert "The proxy setting of the environment (HTTPS_PROXY) cannot be used." in refused
    assert "hunter2" not in refused


def test_json_output_escapes_control_and_direction_characters(cli: Cli) -> None:
    seats = cli.script(a=council_seat("REST", text=HIDDEN), b=council_seat("REST", text=HIDDEN))
    live = cli.run("discuss", f"Which? {HIDDEN}", *seats, "--json").stdout
    outputs = [live, cli.run("show", "last", "--format", "jsonl").stdout, cli.run("show", "last", "--json").stdout]
    outputs += [cli.run("list", "--json").stdout]
    for output in outputs:
        assert set("\x9b\u202e\u2066").isdisjoint(output)
    assert "\\u202e" in outputs[1]


def test_sessions_are_listed_and_shown_from_a_read_only_home(cli: Cli) -> None:
    cli.run("discuss", "Which?", *cli.script(a=council_seat("REST"), b=council_seat("REST")))
    read_only = 'mount --bind "$ROUNDTABLE_HOME" "$ROUNDTABLE_HOME" && mount -o remount,bind,ro "$ROUNDTABLE_HOME"'
    unshared = "unshare --map-root-user --mount sh -c"
    if run_in_shell(cli, f"{unshared} '{read_only}'").returncode:
        pytest.skip("Nobody may make a mount namespace here.")
    for command, shown in {"list": "Which?", "show last": "REST", "status last": "reached"}.items():
        done = run_in_shell(cli, f'{unshared} \'{read_only} && exec "$@"\' sh "$@"', *command.split())
        assert done.returncode == 0, done.stderr
        assert shown in done.stdout
    seats = cli.script(a=council_seat("REST"), b=council_seat("REST"))
    done = run_in_shell(cli, f'{unshared} \'{read_only} && exec "$@"\' sh "$@"', "discuss", "More?", *seats)
    assert done.returncode == 1
    assert "may not be written to" in done.stderr
