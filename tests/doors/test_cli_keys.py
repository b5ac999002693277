"""`roundtable keys` at the keyboard, in a pipe, with a keychain and without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.core.test_redaction import token
from tests.doors.command_line import Cli

KEY = "sk-proj-" + token(40, seed=31)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path, in_process=False)  # keyring chooses its backend once per process
    cli.env |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring", "TEST_KEYCHAIN": str(tmp_path / "chain")}
    return cli


@pytest.fixture
def with_keychain(cli: Cli) -> Cli:
    root = str(Path(__file__).parent.parent.parent)
    cli.env |= {"PYTHON_KEYRING_BACKEND": "tests.servers.keychain.FileKeychain", "PYTHONPATH": root}
    return cli


def listed(cli: Cli) -> list[dict[str, object]]:
    return json.loads(cli.run("keys", "list", "--json").stdout)["keys"]


def test_a_key_from_a_pipe_is_stored_listed_and_removed(cli: Cli) -> None:
    assert "No keys were found" in cli.run("keys").stderr
    assert "Stored OPENAI_API_KEY in your secrets file." in cli.run("keys", "set", "openai", input=KEY + "\n").stderr
    output = cli.run("keys", "list").stdout
    assert KEY[-4:] in output
    assert KEY[-6:] not in output
    assert listed(cli)[0]["name"] == "OPENAI_API_KEY"
    voices = json.loads(cli.run("voices", "--json").stdout)["endpoints"]
    assert next(voice for voice in voices if voice["name"] == "openai")["key_place"] == "file"
    assert "Removed OPENAI_API_KEY" in cli.run("keys", "remove", "openai").stderr
    assert "There is no stored key" in cli.run("keys", "remove", "openai", code=2).stderr


def test_a_key_that_is_typed_is_not_shown(cli: Cli) -> None:
    with cli.terminal("keys", "set", "openai") as terminal:
        terminal.expect("Key for openai")
        terminal.type(KEY + "\n")
        screen = terminal.end(0)
    assert "Stored OPENAI_API_KEY" in screen
    assert KEY[:12] not in screen
    assert listed(cli)[0]["tail"] == KEY[-4:]


def test_a_key_is_never_an_argument(cli: Cli) -> None:
    for key in (KEY, token(32, seed=33)):
        text = cli.run("keys", "set", key, code=2).stderr
        assert "looks like a key" in text
        assert "it is now in your shell's history" in text
        assert key not in text
    assert listed(cli) == []


@pytest.mark.parametrize(
    "words",
    [
        ["set", "openai", "hunter-two"],
        ["set", "hunter-two of ours"],
        ["set", "openai", "--hunter-two"],
        ["set", "openai", "--stdin=hunter-two"],
        ["list", "hunter-two"],
        ["remove", "openai", "--hunter-two"],
        ["hunter-two"],
        ["--hunter-two"],
    ],
)
def test_no_error_repeats_a_possible_key(cli: Cli, words: list[str]) -> None:
    result = cli.run("keys", *words, code=2)
    assert "hunter" not in result.stdout + result.stderr
    assert result.stderr.startswith(("Error: Invalid arguments", "Error: This is not a valid"))


def test_a_missing_key_name_is_reported(cli: Cli) -> None:
    assert "Missing argument 'NAME'" in cli.run("keys", "set", code=2).stderr


def test_replacing_a_key_is_reported(cli: Cli) -> None:
    assert "in place of" not in cli.run("keys", "set", "openai", input=KEY).stderr
    output = cli.run("keys", "set", "openai", input=token(30, seed=34)).stderr
    assert "Stored OPENAI_API_KEY in your secrets file, replacing the earlier key." in output


def test_a_seal_in_the_same_folder_is_reported(cli: Cli, tmp_path: Path) -> None:
    assert "A copy of that folder exposes your keys." in cli.run("keys", "set", "openai", input=KEY).stderr
    del cli.env["ROUNDTABLE_HOME"]
    cli.env |= {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert "that folder" not in cli.run("keys", "set", "openai", input=KEY).stderr


def test_an_empty_pipe_stores_no_key(cli: Cli) -> None:
    assert "The key was empty" in cli.run("keys", "set", "openai", "--stdin", code=2).stderr
    assert listed(cli) == []


def test_an_environment_variable_that_takes_precedence_is_named(cli: Cli) -> None:
    cli.env["OPENAI_API_KEY"] = token(30, seed=32)
    assert "takes precedence" in cli.run("keys", "set", "openai", input=KEY).stderr
    assert [key["place"] for key in listed(cli)] == ["environment", "file"]


def test_storing_an_unused_key_explains_how_to_use_it(cli: Cli) -> None:
    assert 'key = "secret:lab"' in cli.run("keys", "set", "lab", input=KEY).stderr


def test_with_a_keychain_the_key_is_not_in_the_file(with_keychain: Cli, tmp_path: Path) -> None:
    cli = with_keychain
    assert "in the keychain" in cli.run("keys", "set", "openai", input=KEY).stderr
    assert KEY in (tmp_path / "chain").read_text()
    assert not (cli.home / "secrets.key").exists()
    assert [key["place"] for key in listed(cli)] == ["keychain"]
    assert "usable" in cli.run("voices").stdout
    cli.run("keys", "remove", "OPENAI_API_KEY")
    assert json.loads((tmp_path / "chain").read_text()) == {}


def test_a_locked_keychain_is_skipped_when_storing_and_reported_when_reading(
    with_keychain: Cli, tmp_path: Path
) -> None:
    cli = with_keychain
    cli.run("keys", "set", "openai", input=KEY)
    (tmp_path / "chain.locked").touch()
    assert "in your secrets file" in cli.run("keys", "set", "xai", input=KEY).stderr
    result = cli.run("discuss", "--seat", "a=openai:gpt-4o", "--headless", "What now?", code=2)
    assert "The keychain is not usable (KeyringLocked)." in result.stdout + result.stderr
    assert "The keychain is not usable" in cli.run("keys", "remove", "openai", code=2).stderr
    assert [key["place"] for key in listed(cli)] == ["keychain", "file"]


def test_help_says_what_the_encryption_does_not_protect_against(cli: Cli) -> None:
    assert "does not protect against programs that run as you" in " ".join(cli.run("keys", "--help").stdout.split())
