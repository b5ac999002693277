"""The front door. Commands are named in a table here and imported only when one of them is used."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from roundtable import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: dict[str, dict[str, tuple[str, str, str]]] = {
    "Meetings": {
        "discuss": ("meeting_commands", "discuss_command", "Put a question to the table and follow the discussion."),
        "ask": ("meeting_commands", "ask_command", "Get a second opinion: one round, and one more if they differ."),
        "debate": ("meeting_commands", "debate_command", "Have the seats agree, object and add until nobody objects."),
        "code-red": ("meeting_commands", "code_red_command", "Have a fault diagnosed: triage, blind, then together."),
        "vote": ("meeting_commands", "vote_command", "Have ideas pitched, discussed and ranked by ballot."),
        "summon": (
            "meeting_commands",
            "summon_command",
            "Put your changes to the table: git diff, a branch or a patch.",
        ),
        "review": (
            "meeting_commands",
            "review_command",
            "Have your changes reviewed; what is found is reproduced or refuted.",
        ),
    },
    "From a decision to code": {
        "build": (
            "meeting_commands",
            "build_command",
            "Have a task written by every seat, run, judged and put together.",
        ),
        "sdlc": ("sdlc", "sdlc_command", "Take an idea through seven stages to a running program."),
        "apply": ("apply", "apply_command", "Carry out what a session decided; you approve each change."),
        "project": ("project", "project_command", "See what a meeting in stages made, and take it with you."),
        "undo": ("undo", "undo_command", "Take back what the table wrote here, byte for byte."),
        "worktrees": (
            "worktrees",
            "worktrees_group",
            "List the worktrees of this workspace, and let them go.",
        ),
    },
    "While a meeting runs": {
        "watch": ("follow", "watch_command", "Follow a session that runs here or in another process."),
        "resume": ("follow", "resume_command", "Go on with a session that was stopped or paused."),
        "pause": ("steer", "pause_command", "Let a running session finish its turns and then wait."),
        "stop": ("steer", "stop_command", "End the program that a session runs; the session goes on."),
        "cancel": ("steer", "cancel_command", "End a session now; what was said is kept."),
        "say": ("steer", "say_command", "Put a note to the table; seats hear it at their next turn."),
        "gates": ("sessions", "gates_command", "List the gates that wait for an answer."),
        "answer": ("steer", "answer_command", "Answer the gate at which a session waits."),
        "amend": ("steer", "amend_command", "Change a session's name, seats, files or limits."),
        "branch": ("steer", "branch_command", "Start anew from before a round of a session."),
        "rollback": (
            "rollback",
            "rollback_command",
            "Go back to a stage of a session, on a line of its own.",
        ),
        "chat": ("chat", "chat_command", "Ask the judge about the state of a session, without changing it."),
    },
    "The record": {
        "show": ("show", "show_command", "Print a session: the decision first, then how it came about."),
        "list": ("sessions", "list_sessions_command", "List sessions, newest first."),
        "status": (
            "sessions",
            "status_command",
            "Say where a session stands: who runs it, its round, its seats, what it spent, what it waits for.",
        ),
        "diff-sessions": (
            "project",
            "diff_sessions_command",
            "Compare two sessions: stages, decisions, files, costs.",
        ),
        "recount": ("recount", "recount_command", "Decide again without a seat, or by another rule, for free."),
        "export": ("export", "export_command", "Write a session to files: markdown, html, json, jsonl."),
        "sync": ("export", "sync_command", "Write .roundtable/ anew from the record."),
        "forget": ("forget", "forget_command", "Take a session off the list; exported files stay."),
        "gc": ("forget", "gc_command", "Clear away what old sessions said; decisions are remembered."),
    },
    "What was decided": {
        "chronicle": ("memory", "chronicle_group", "List and search the decisions of this workspace."),
        "decrees": ("memory", "decrees_group", "What you rejected and why, so that it is not proposed again."),
        "errors": ("memory", "errors_group", "The error log: what was diagnosed, and what became of it."),
        "predictions": ("memory", "predictions_group", "What dissenters foretold, and who was right."),
    },
    "Set-up": {
        "init": ("init", "init_command", "Set up a table here: finds models, writes the config."),
        "config": ("config", "config_group", "Show, explain and change settings."),
        "demo": ("demo", "demo_command", "Hold a real deliberation on an embedded model: no key, no account."),
        "doctor": (
            "doctor",
            "doctor_command",
            "Check folders, config, the record, every seat and what is installed; no model is asked without --deep.",
        ),
        "voices": ("voices", "voices_command", "List the voices that can be reached from here."),
        "keys": ("keys", "keys_group", "Store, list and remove the keys of paid voices."),
        "models": (
            "models",
            "models_group",
            "List, fetch and choose the models that run on this machine, without a key or an account.",
        ),
        "trust": (
            "config",
            "trust_command",
            "Let this workspace's config, as it is now, name endpoints, programs and keys.",
        ),
        "completion": ("completion", "completion_command", "Have your shell complete commands and sessions."),
        "mcp": ("mcp_server", "mcp_command", "Serve the table to other programs over MCP."),
        "skill": ("skill", "skill_group", "Teach your coding agents when to call the table."),
    },
}
"""Per heading: command, module, attribute and the one line of help, so that `--help` imports none of them."""

_TABLE = {name: entry for section in COMMANDS.values() for name, entry in section.items()}


def _go_to(_: click.Context, __: click.Parameter, workspace: str | None) -> None:
    """Work in another folder."""
    if workspace is None:
        return
    try:
        os.chdir(workspace)
    except FileNotFoundError:
        from roundtable.core.text.sanitize import sanitize_line

        raise click.ClickException(
            f"The workspace does not exist: {sanitize_line(workspace)}. Give an existing folder with -C or --workspace."
        ) from None
    except OSError as error:
        raise click.BadParameter(f"{workspace}: {error.strerror}.", param_hint="-C") from None


_WORKSPACE_AGAIN = click.Option(["-C", "--workspace"], hidden=True, is_eager=True, expose_value=False, callback=_go_to)
"""`-C` is understood after every command too."""


class LazyCommandGroup(click.Group):
    """A group that loads a command when it is called, and turns every error into one sentence and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the table."""
        return list(_TABLE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        if cmd_name not in _TABLE:
            return None
        module, attribute, _ = _TABLE[cmd_name]
        command = getattr(import_module(f"{__package__}.{module}"), attribute)
        if _WORKSPACE_AGAIN not in command.params:
            command.params.append(_WORKSPACE_AGAIN)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or name the nearest one."""
        if args[0] not in _TABLE and not args[0].startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0], _TABLE, 1)
            hint = f"Did you mean {near[0]}?" if near else "`roundtable --help` lists the commands."
            ctx.fail(f"There is no command {args[0]}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table as help."""
        for heading, section in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, help) for name, (_, _, help) in section.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of the table, without importing what they stand for."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=row[2]) for name, row in _TABLE.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; whatever it raises leaves as a sentence for people."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            from roundtable.doors.cli.output import report_error

            ctx.exit(report_error(error, debug=bool(ctx.params.get("debug"))))


@click.command(cls=LazyCommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "-C",
    "--workspace",
    metavar="DIR",
    is_eager=True,
    expose_value=False,
    callback=_go_to,
    help="Work as if started in this folder; may also stand after the command.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, "-V", "--version", prog_name="roundtable", message="%(prog)s %(version)s")
def cli(debug: bool) -> None:
    """Several AI models at one table: blind answers, an argument on the record, a decision you control.

    \b
    Examples:
      roundtable discuss "REST or GraphQL for our public API?"
      roundtable watch last
      roundtable show last
    """


def main() -> None:
    """Run the command line and leave with one of the exit codes of the contract."""
    sys.exit(_run(_debug_first(sys.argv[1:])))


def _run(args: list[str]) -> int:
    try:
        result = cli.main(args, prog_name="roundtable", standalone_mode=False)
    except click.ClickException as error:
        from roundtable.doors.cli.stderr import redact_stderr

        with redact_stderr():
            error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        return 130
    return result if isinstance(result, int) and not isinstance(result, bool) else 0


def _debug_first(args: list[str]) -> list[str]:
    """`--debug` is understood after the command too; people add it to the end of what failed."""
    own = args[: args.index("--")] if "--" in args else args
    if "--debug" not in own:
        return args
    return ["--debug", *(arg for arg in own if arg != "--debug"), *args[len(own) :]]


if __name__ == "__main__":
    main()
