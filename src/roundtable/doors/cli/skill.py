"""`skill`: teach coding agents when to call the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from roundtable.core.faults import UsageError
from roundtable.doors.cli.output import print_note

if TYPE_CHECKING:
    from roundtable.app.desk import SkillAgent

F = TypeVar("F", bound=Callable[..., Any])

ROUTE_EXPLANATIONS = {
    "table": "This phrase starts a meeting.",
    "table+follow_up": "This phrase starts a meeting, with one more round if the seats disagree.",
    "single": "This phrase asks one model, so no meeting starts.",
    "none": "This phrase does not start a meeting.",
}
"""A sentence for each target that a phrase can call."""


def _target_options(command: F) -> F:
    """Options for the agents and the folder that a skill command applies to."""
    agent = click.option(
        "--agent",
        "agents",
        multiple=True,
        metavar="NAME",
        help="Install or remove the skill only for this agent; repeatable.",
    )
    project = click.option("--project", is_flag=True, help="Use this workspace instead of your home folder.")
    force = click.option("--force", is_flag=True, help="Replace or remove the file even if you edited or created it.")
    return agent(project(force(command)))


@click.group()
def skill_group() -> None:
    """Teach your coding agents when to call Roundtable.

    A skill is a text that an agent reads when your words match it: "roundtable this plan" then calls
    the table, and "ask cc" does not.

    \b
    Example:
      roundtable skill install
    """


@skill_group.command("install")
@_target_options
def install_skill_command(agents: tuple[str, ...], project: bool, force: bool) -> None:
    """Install the skill for your coding agents.

    Without --agent, it is installed for every agent found: claude, codex, gemini, opencode.

    \b
    Examples:
      roundtable skill install
      roundtable skill install --agent codex --project
    """
    from roundtable.app.desk import Setup

    setup = Setup.here()

    def install(reader: SkillAgent) -> None:
        path = setup.install_skill(reader, in_project=project, force=force)
        click.echo(f"{reader.name}: {path}")

    _for_each(setup.skill_readers(agents), install)
    print_note("Restart your agents: a session that is already running does not see the skill.")


@skill_group.command("remove")
@_target_options
def remove_skill_command(agents: tuple[str, ...], project: bool, force: bool) -> None:
    """Remove the skill from your coding agents.

    \b
    Example:
      roundtable skill remove --agent codex
    """
    from roundtable.app.desk import Setup

    setup = Setup.here()

    def remove(reader: SkillAgent) -> None:
        path = setup.remove_skill(reader, in_project=project, force=force)
        if path is not None:
            click.echo(f"{reader.name}: {path} is removed")
        elif agents:
            print_note(f"{reader.name} has no Roundtable skill.")

    _for_each(setup.skill_readers(agents or setup.known_skill_readers()), remove)


@skill_group.command("show")
@click.option("--phrase", metavar="TEXT", help="Print whether this phrase would start a meeting, instead of the skill.")
def show_skill_command(phrase: str | None) -> None:
    """Print the skill, or what a phrase would call.

    A phrase calls the `table`, the table with a follow-up round (`table+follow_up`), a `single` model,
    or `none` of them.

    \b
    Examples:
      roundtable skill show
      roundtable skill show --phrase "let cc and opencode both look"
    """
    from roundtable.app.desk import Setup

    if phrase is None:
        click.echo(Setup.skill_text(), nl=False)
        return
    route = Setup.route_phrase(phrase)
    click.echo(route)
    print_note(ROUTE_EXPLANATIONS[route])


def _for_each(readers: Iterable[SkillAgent], act: Callable[[SkillAgent], None]) -> None:
    """Act for every agent, and raise the first error after the last one."""
    errors: list[UsageError] = []
    for reader in readers:
        try:
            act(reader)
        except UsageError as error:
            errors.append(error)
    for error in errors[1:]:
        print_note(f"{error.message} {error.help}")
    if errors:
        raise errors[0]
