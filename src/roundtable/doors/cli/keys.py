"""`keys`: store, list and remove API keys without ever showing them."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.doors.cli.output import print_note
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.desk import KeyState


class SecretSafeGroup(click.Group):
    """A command group whose errors never repeat an argument, because it may be a key."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options before the command's name."""
        with _hide_arguments():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Parse and run the command."""
        with _hide_arguments():
            return super().invoke(ctx)


@contextmanager
def _hide_arguments() -> Generator[None]:
    try:
        yield
    except click.MissingParameter:
        raise
    except click.UsageError:
        from roundtable.app.desk import Setup

        raise UsageError(
            "Invalid arguments (not shown: they may contain a key). See `roundtable keys --help`.",
            Setup.exposed_key_help(),
        ) from None


@click.group(cls=SecretSafeGroup, invoke_without_command=True)
def keys_group() -> None:
    """Store, list and remove API keys.

    A variable in the environment overrides a stored key. Stored keys are kept in the system's keychain;
    without one, in a file that only you can read, encrypted with a second file in your config folder.
    The encryption protects a copy or backup of one file without the other, so it protects little if
    ROUNDTABLE_HOME keeps both in one folder. It does not protect against programs that run as you.

    \b
    Examples:
      roundtable keys set openai
      roundtable keys list
    """
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        context.invoke(list_keys_command)


@keys_group.command("set")
@click.argument("name")
@click.option("--stdin", "piped", is_flag=True, help="Read the key from standard input (default if input is piped).")
def set_key_command(name: str, piped: bool) -> None:
    """Store a key under an endpoint, a variable or the NAME of secret:NAME.

    NAME is an endpoint such as openai, its variable such as OPENAI_API_KEY, or the NAME of
    secret:NAME. The key is asked for and not shown. It cannot be an argument, because other programs
    can read arguments.

    \b
    Examples:
      roundtable keys set openai
      pass show openai | roundtable keys set openai
    """
    from roundtable.app.desk import Setup

    setup = Setup.here()
    setup.key_name(name)  # rejects an invalid name before anything is typed
    key = sys.stdin.read(4 * setup.longest_key()) if piped or not sys.stdin.isatty() else _prompt_for_key(name)
    stored, replaced = setup.store_key(name, key)
    print_note(f"Stored {stored.name} in {_describe_place(stored)}{', replacing the earlier key' if replaced else ''}.")
    places = setup.places
    if stored.place == "file" and places.secrets.parent == places.seal.parent:
        print_note(
            f"{places.secrets.name} and {places.seal.name}, which decrypts it, are both in {places.data}. "
            "A copy of that folder exposes your keys."
        )
    if os.environ.get(stored.name):
        print_note(f"The environment variable {stored.name} is also set and takes precedence over the stored key.")
    if not stored.endpoints:
        print_note(
            f'No endpoint uses this key yet. To use it, set `key = "secret:{stored.name}"` in an endpoint\'s config.'
        )


@keys_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_keys_command(as_json: bool = False) -> None:
    """List stored keys and the environment's keys, by name only.

    \b
    Example:
      roundtable keys list
    """
    from roundtable.app.desk import Setup

    keys = Setup.here().list_keys()
    if as_json:
        print_json({"v": 1, "keys": keys})
        return
    if not keys:
        print_note(
            "No keys were found. `roundtable keys set openai` stores a key. "
            "`roundtable voices` lists the voices that need one."
        )
        return
    rows = [
        (key.name, _describe_place(key), f"…{key.tail}" if key.tail else "…", ", ".join(key.endpoints) or "no endpoint")
        for key in keys
    ]
    print_table(("key", "where", "ends in", "used by"), rows)


@keys_group.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def remove_keys_command(names: tuple[str, ...]) -> None:
    """Remove stored keys; the environment is not changed.

    \b
    Example:
      roundtable keys remove openai
    """
    from roundtable.app.desk import Setup

    for name in names:
        removed = Setup.here().remove_key(name)
        print_note(f"Removed {removed.name} from {_describe_place(removed)}.")


def _prompt_for_key(name: str) -> str:
    return click.prompt(f"Key for {name}", hide_input=True, err=True)


def _describe_place(key: KeyState) -> str:
    return {"keychain": "the keychain", "file": "your secrets file", "environment": "the environment"}[key.place]
