"""`completion`: the script a shell evaluates, and the session, meeting and seat names it completes."""

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


def shell_complete_session_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Sessions of this workspace that begin like this."""
    from roundtable.app.desk import Setup

    return [session for session in Setup.suggest("sessions") if session.startswith(incomplete)]


def shell_complete_meeting_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Meetings, presets and recipes that begin like this."""
    from roundtable.app.desk import Setup

    return [meeting for meeting in Setup.suggest("meetings") if meeting.startswith(incomplete)]


def shell_complete_seat_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Configured seats that begin like this."""
    from roundtable.app.desk import Setup

    return [seat for seat in Setup.suggest("seats") if seat.startswith(incomplete)]
