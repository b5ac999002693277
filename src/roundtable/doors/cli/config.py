"""`config`: the settings in force, where each comes from, and a way to change one without an editor.

`trust`: the person says that this workspace's config may name endpoints, programs and keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.doors.cli.output import print_note
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.settings.places import Places
    from roundtable.app.settings.settings_view import Setting


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--revoke", "take_back", is_flag=True, help="Revoke the trust.")
def trust_command(yes: bool, take_back: bool) -> None:
    """Trust this workspace's config to name endpoints, programs and keys.

    Trust applies to the config as it is now; after any change you have to confirm it again.

    \b
    Examples:
      roundtable trust
      roundtable trust --revoke
    """
    from roundtable.app.settings import config
    from roundtable.app.settings.places import Places, find_workspace

    places, workspace = Places.of_this_person(), find_workspace(Path.cwd())
    if take_back:
        had = config.revoke_workspace_trust(places, workspace)
        click.echo(f"{workspace} is no longer trusted." if had else f"{workspace} was not trusted.", err=True)
        return
    asked = config.list_untrusted_settings(workspace)
    if not asked:
        click.echo(f"Nothing to trust: the config of {workspace} names no endpoint, program or key.", err=True)
        return
    if config.is_workspace_trusted(places, workspace):
        click.echo(f"{workspace} is already trusted with its current config.", err=True)
        return
    click.echo(f"The config of {workspace} sets:", err=True)
    for setting, value in asked.items():
        click.echo(f"  {sanitize_line(setting)} = {sanitize_line(value)}", err=True)
    click.echo("Seats with these voices receive your questions and files and can use these keys.", err=True)
    if any(setting.startswith(".roundtable/") for setting in asked):
        click.echo("Its meetings and prompts instruct your seats: read those files first.", err=True)
    if not yes and not click.confirm("Trust it?", default=False, err=True):
        click.echo("Not trusted; nothing was changed.", err=True)
        click.get_current_context().exit(3)
    if config.list_untrusted_settings(workspace) != asked:
        raise UsageError("The config changed while you were reading it.", "Run `roundtable trust` again.")
    config.trust_workspace(places, workspace)
    click.echo("Trusted.", err=True)


_SOURCES = {
    "default": "default",
    "you": "user config",
    "workspace": "workspace config",
    "withheld": "needs `roundtable trust`",
}


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def config_group(ctx: click.Context, as_json: bool) -> None:
    """Show and change settings.

    Command-line options override the workspace's config, which overrides your own config, which
    overrides the defaults.

    \b
    Examples:
      roundtable config
      roundtable config get limits
      roundtable config set limits.budget_usd 2
      roundtable config set table.seats claude,gpt --user
    """
    if ctx.invoked_subcommand is not None:
        return
    from roundtable.app.settings.settings_view import list_settings

    _show(list_settings(*_here()), as_json=as_json)


@config_group.command("get")
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def get_setting_command(key: str, as_json: bool) -> None:
    """Print a setting, or all settings under a prefix.

    \b
    Example:
      roundtable config get limits.seat_timeout
    """
    from roundtable.app.settings.settings_view import find_settings
    from roundtable.app.settings.toml_text import format_toml_value

    found = find_settings(*_here(), key)
    if len(found) == 1 and found[0].key == key and not as_json:
        value = found[0].value
        click.echo(sanitize_line(value if isinstance(value, str) else format_toml_value(value)))
        return
    _show(found, as_json=as_json)


@config_group.command("set")
@click.argument("key")
@click.argument("value")
@click.option("--user", "for_person", is_flag=True, help="Change your user config, for all workspaces.")
def set_setting_command(key: str, value: str, for_person: bool) -> None:
    """Change a setting and keep the comments in the file.

    VALUE is a word, a number, a comma-separated list, or TOML.

    \b
    Examples:
      roundtable config set meetings.council.rounds 1
      roundtable config set seats.gpt.voices openai:gpt-4o --user
    """
    from roundtable.app.settings.settings_view import change_setting
    from roundtable.app.settings.toml_text import format_toml_value

    config_path_command, now = change_setting(*_here(), key, value, for_person=for_person)
    print_note(f"{key} = {format_toml_value(now)} in {config_path_command}")


@config_group.command("path")
@click.option("--user", "for_person", is_flag=True, help="Print the path of your user config.")
def config_path_command(for_person: bool) -> None:
    """Print the path of the config file.

    \b
    Example:
      $EDITOR "$(roundtable config path)"
    """
    from roundtable.app.settings.config import workspace_config_path

    places, workspace = _here()
    click.echo(places.user_config if for_person else workspace_config_path(workspace))


def _here() -> tuple[Places, Path]:
    from roundtable.app.settings.places import Places, find_workspace

    return Places.of_this_person(), find_workspace(Path.cwd())


def _show(found: list[Setting], *, as_json: bool) -> None:
    from roundtable.app.settings.toml_text import format_toml_value

    if as_json:
        print_json({"v": 1, "settings": found})
        return
    rows = [(it.key, _SOURCES[it.source], "" if it.value is None else format_toml_value(it.value)) for it in found]
    print_table(("setting", "from", "value"), rows)
