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
    """Have your shell complete commands and sessions.

    Prints what the shell has to read: commands, options, sessions, meetings and seats are completed.

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
