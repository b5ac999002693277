"""`completion`: the few lines with which a shell asks us what may come next."""

from __future__ import annotations

import click

SHELL_SETUP = {
    "bash": 'Add to ~/.bashrc: eval "$(roundtable completion bash)"',
    "zsh": 'Add to ~/.zshrc: eval "$(roundtable completion zsh)"',
    "fish": "Save as ~/.config/fish/completions/roundtable.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(tuple(SHELL_SETUP)))
def completion_command(shell: str) -> None:
    """Print the shell completion script.

    It completes commands, options, sessions, meetings and seats.

    \b
    Examples:
      eval "$(roundtable completion bash)"
      roundtable completion fish > ~/.config/fish/completions/roundtable.fish
    """
    from click.shell_completion import get_completion_class

    from roundtable.doors.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(f"# {SHELL_SETUP[shell]}")
    click.echo(kind(cli, {}, "roundtable", "_ROUNDTABLE_COMPLETE").source())


def complete_session_names(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Sessions of this workspace."""
    from roundtable.app.desk import Setup

    return [it for it in Setup.suggest("sessions") if it.startswith(begun)]


def complete_meeting_names(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Meetings, presets and data files."""
    from roundtable.app.desk import Setup

    return [it for it in Setup.suggest("meetings") if it.startswith(begun)]


def complete_seat_names(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Seats of the config."""
    from roundtable.app.desk import Setup

    return [it for it in Setup.suggest("seats") if it.startswith(begun)]
