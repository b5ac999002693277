"""`trust`: the person says that this workspace's config may name endpoints, programs and keys."""

from __future__ import annotations

from pathlib import Path

import click

from roundtable.core.faults import UsageError
from roundtable.core.text.sanitize import one_line


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--revoke", "take_back", is_flag=True, help="Take the trust back.")
def trust(yes: bool, take_back: bool) -> None:
    """Let this workspace's config, as it is now, name endpoints, programs and keys.

    Any later change of the file needs a new yes.

    \b
    Examples:
      roundtable trust
      roundtable trust --revoke
    """
    from roundtable.app.settings import config
    from roundtable.app.settings.places import Places, workspace_of

    places, workspace = Places.of_this_person(), workspace_of(Path.cwd())
    if take_back:
        had = config.revoke(places, workspace)
        click.echo(f"{workspace} is no longer trusted." if had else f"{workspace} was not trusted.", err=True)
        return
    asked = config.reach(workspace)
    if not asked:
        click.echo(f"There is nothing to trust: the config of {workspace} names no endpoint, program or key.", err=True)
        return
    if config.is_trusted(places, workspace):
        click.echo(f"{workspace} is already trusted, as its config is now.", err=True)
        return
    click.echo(f"The config of {workspace} wants to set:", err=True)
    for setting, value in asked.items():
        click.echo(f"  {one_line(setting)} = {one_line(value)}", err=True)
    click.echo("Seats with these voices get your questions and files, and may use the keys named here.", err=True)
    if any(setting.startswith(".roundtable/") for setting in asked):
        click.echo("Its meetings and prompts say what your seats are told: read those files first.", err=True)
    if not yes and not click.confirm("Trust it?", default=False, err=True):
        click.echo("Not trusted; nothing was changed.", err=True)
        click.get_current_context().exit(3)
    if config.reach(workspace) != asked:
        raise UsageError("The config was changed while you read it.", "Run `roundtable trust` again.")
    config.trust(places, workspace)
    click.echo("Trusted.", err=True)
