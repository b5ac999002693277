"""`config` and `trust`: show and change settings, and trust the config of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.doors.cli.output import EXIT_NO_DECISION, print_note
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from pathlib import Path

    from roundtable.app.desk import Setting, SettingChange, TrustBefore, TrustRequest


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--exceed-limits", is_flag=True, help="Also allow this workspace to set limits higher than your own.")
@click.option("--revoke", "take_back", is_flag=True, help="Revoke the trust.")
def trust_command(yes: bool, exceed_limits: bool, take_back: bool) -> None:
    """Allow this workspace's config, meetings and prompts to take effect.

    Without trust, a workspace can only hide files from seats ([context] ignore). Trust applies to the
    files as they are now; after any change you have to trust them again. Your own limits remain the
    highest allowed, unless you add --exceed-limits.

    \b
    Examples:
      roundtable trust
      roundtable trust --exceed-limits
      roundtable trust --revoke
    """
    from roundtable.app.desk import Setup

    setup = Setup.here()
    workspace = setup.workspace
    if take_back:
        revoked = setup.revoke_trust()
        print_note(
            f"Workspace {workspace} is no longer trusted." if revoked else f"Workspace {workspace} was not trusted."
        )
        return
    request = setup.find_trust_request()
    if not request.settings:
        print_note(f"Nothing to trust: the config of {workspace} contains no setting that needs your trust.")
        return
    if request.is_trusted and (request.may_exceed_limits or not exceed_limits):
        print_note(f"Workspace {workspace} is already trusted with its current config.")
        return
    _print_trust_request(workspace, request, exceed_limits=exceed_limits)
    if not yes and not click.confirm("Trust this config?", default=False, err=True):
        print_note("The config is not trusted; nothing was changed.")
        click.get_current_context().exit(EXIT_NO_DECISION)
    if setup.find_trust_request() != request:
        raise UsageError("The config changed while you were reading it.", "Run `roundtable trust` again.")
    setup.trust(request, may_exceed_limits=exceed_limits)
    print_note("Trusted.")


def _print_trust_request(workspace: Path, request: TrustRequest, *, exceed_limits: bool) -> None:
    """Print every setting and file that needs trust, and what changed since the workspace was trusted."""
    if request.before == "older":
        print_note("You trusted this workspace in an earlier version of Roundtable, which asked about fewer settings.")
    elif request.before == "changed":
        print_note("This workspace changed since you trusted it.")
    print_note(f"The config of {workspace} contains these settings that need your trust:")
    changes = {change.name: change for change in request.changes or ()}
    for name, value in request.settings.items():
        remark = _describe_change(changes[name], request.before) if name in changes else ""
        print_note(f"  {sanitize_line(name)} = {sanitize_line(value)}{remark}")
    for change in changes.values():
        if change.new is None:
            print_note(f"  {sanitize_line(change.name)} was removed (was {sanitize_line(change.old or '')})")
    if request.before == "changed" and not changes:
        unknown = "An earlier version of Roundtable did not record the old values."
        print_note(unknown if request.changes is None else "None of these values changed, only comments or layout.")
    print_note(
        "If you trust this config, the endpoints and programs it names can receive your questions and files, and use "
        "the keys it names."
    )
    if any(name.startswith(".roundtable/") for name in request.settings):
        print_note("Read the listed files in .roundtable/ before you answer: they contain instructions for your seats.")
    if exceed_limits:
        print_note("The limits of this workspace may exceed your own.")


def _describe_change(change: SettingChange, before: TrustBefore) -> str:
    if before == "older":
        return " (not asked before)"
    return " (new)" if change.old is None else f" (was {sanitize_line(change.old)})"


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
@click.option("--user", "for_person", is_flag=True, help="Change your user config, which applies to all workspaces.")
def set_setting_command(key: str, value: str, for_person: bool) -> None:
    """Change a setting and keep the comments in the file.

    VALUE is a word, a number, a comma-separated list, or TOML.

    \b
    Examples:
      roundtable config set meetings.council.rounds 1
      roundtable config set seats.gpt.voices openai:gpt-4o --user
    """
    from roundtable.app.desk import Setup

    setup = Setup.here()
    path, new_value = setup.change_setting(key, value, for_person=for_person)
    print_note(f"{key} = {new_value} in {path}")
    if not for_person and setup.find_trust_request().withheld:
        print_note("This workspace is not trusted, so its settings have no effect yet: run `roundtable trust`.")


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
