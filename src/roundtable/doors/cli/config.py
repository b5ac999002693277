"""`config` and `trust`: show and change settings, and trust the config of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.doors.cli.output import EXIT_NO_DECISION, print_note
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.desk import Setting


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
    from roundtable.app.desk import Setup

    setup = Setup.here()
    workspace = setup.workspace
    if take_back:
        revoked = setup.revoke_trust()
        click.echo(
            f"Workspace {workspace} is no longer trusted." if revoked else f"Workspace {workspace} was not trusted.",
            err=True,
        )
        return
    requested = setup.settings_waiting_for_trust()
    if not requested:
        click.echo(f"Nothing to trust: the config of {workspace} names no endpoint, program or key.", err=True)
        return
    if setup.is_trusted():
        click.echo(f"Workspace {workspace} is already trusted with its current config.", err=True)
        return
    click.echo(f"The config of {workspace} sets:", err=True)
    for setting, value in requested.items():
        click.echo(f"  {sanitize_line(setting)} = {sanitize_line(value)}", err=True)
    click.echo("Seats with these voices receive your questions and files and can use these keys.", err=True)
    if any(setting.startswith(".roundtable/") for setting in requested):
        click.echo("The meetings and prompts in .roundtable/ instruct your seats: read those files first.", err=True)
    if not yes and not click.confirm("Trust this config?", default=False, err=True):
        click.echo("The config is not trusted; nothing was changed.", err=True)
        click.get_current_context().exit(EXIT_NO_DECISION)
    if setup.settings_waiting_for_trust() != requested:
        raise UsageError("The config changed while you were reading it.", "Run `roundtable trust` again.")
    setup.trust()
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
    from roundtable.app.desk import Setup

    _print_settings(Setup.here().list_settings(), as_json=as_json)


@config_group.command("get")
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def get_setting_command(key: str, as_json: bool) -> None:
    """Print a setting, or all settings under a prefix.

    \b
    Example:
      roundtable config get limits.seat_timeout
    """
    from roundtable.app.desk import Setup

    settings = Setup.here().find_settings(key)
    if len(settings) == 1 and settings[0].key == key and not as_json:
        value = settings[0].value
        click.echo(sanitize_line(value if isinstance(value, str) else settings[0].text))
        return
    _print_settings(settings, as_json=as_json)


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
    from roundtable.app.desk import Setup

    path, new_value = Setup.here().change_setting(key, value, for_person=for_person)
    print_note(f"{key} = {new_value} in {path}")


@config_group.command("path")
@click.option("--user", "for_person", is_flag=True, help="Print the path of your user config.")
def config_path_command(for_person: bool) -> None:
    """Print the path of the config file.

    \b
    Example:
      $EDITOR "$(roundtable config path)"
    """
    from roundtable.app.desk import Setup

    click.echo(Setup.here().config_path(for_person=for_person))


def _print_settings(settings: list[Setting], *, as_json: bool) -> None:
    if as_json:
        print_json({"v": 1, "settings": settings})
        return
    rows = [(setting.key, _SOURCES[setting.source], setting.text) for setting in settings]
    print_table(("setting", "from", "value"), rows)
