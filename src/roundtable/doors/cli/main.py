"""The `roundtable` command: a table of all commands, each imported only when it is used."""

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
        "ask": (
            "meeting_commands",
            "ask_command",
            "Get a second opinion in one round, with an optional follow-up round.",
        ),
        "debate": (
            "meeting_commands",
            "debate_command",
            "Hold a debate: seats agree, object or add points until nobody objects.",
        ),
        "code-red": (
            "meeting_commands",
            "code_red_command",
            "Diagnose a fault: triage, blind diagnosis, then a shared root cause.",
        ),
        "vote": (
            "meeting_commands",
            "vote_command",
            "Have the seats pitch ideas, discuss them and rank them by ballot.",
        ),
        "summon": (
            "meeting_commands",
            "summon_command",
            "Discuss your code changes: uncommitted, on a branch or in a patch.",
        ),
        "review": (
            "meeting_commands",
            "review_command",
            "Review your code changes; a program reproduces or refutes each finding.",
        ),
    },
    "From a decision to code": {
        "build": (
            "meeting_commands",
            "build_command",
            "Have every seat write code for a task, then test, judge and merge it.",
        ),
        "sdlc": ("sdlc", "sdlc_command", "Take an idea through seven stages to a running program."),
        "apply": (
            "meeting_commands",
            "apply_command",
            "Apply a session's decision to your files; you approve each change.",
        ),
        "project": ("project", "project_command", "Show and export the files of a project that `sdlc` made."),
        "undo": ("undo", "undo_command", "Undo a change that Roundtable wrote here, byte for byte."),
        "worktrees": (
            "worktrees",
            "worktrees_group",
            "List and remove the worktrees of this workspace.",
        ),
    },
    "While a meeting runs": {
        "watch": ("watch", "watch_command", "Follow a session that runs here or in another process."),
        "resume": ("watch", "resume_command", "Continue a session that was stopped or paused."),
        "pause": ("steer", "pause_command", "Pause a running session after the turns in progress."),
        "stop": ("steer", "stop_command", "Stop the program that a session is running; the session continues."),
        "cancel": ("steer", "cancel_command", "End a session now; its transcript is kept."),
        "say": ("steer", "say_command", "Send a note to the seats; they read it at their next turn."),
        "gates": ("sessions", "gates_command", "List the gates that wait for an answer."),
        "answer": ("steer", "answer_command", "Answer an open gate of a session."),
        "amend": ("steer", "amend_command", "Change a session's name, seats, files or limits."),
        "branch": ("steer", "branch_command", "Repeat a session from a given round, in a new session."),
        "rollback": (
            "rollback",
            "rollback_command",
            "Repeat a session from a given stage, in a new session.",
        ),
        "chat": ("chat", "chat_command", "Ask the judge questions about a session; the session does not change."),
    },
    "The record": {
        "show": ("show", "show_command", "Print a session: the decision first, then how it was reached."),
        "list": ("sessions", "list_sessions_command", "List sessions, newest first."),
        "status": (
            "sessions",
            "status_command",
            "Show a session's state: process, round, seats, cost and open gate.",
        ),
        "diff-sessions": (
            "compare",
            "diff_sessions_command",
            "Compare two sessions: stages, decisions, files, costs.",
        ),
        "recount": (
            "compare",
            "recount_command",
            "Recompute a decision by another rule or without a seat; no model is asked.",
        ),
        "export": ("export", "export_command", "Write a session to files: Markdown, HTML, JSON or JSONL."),
        "verify": ("verify", "verify_command", "Read the whole record and name the damaged sessions."),
        "sync": (
            "export",
            "sync_workspace_folder_command",
            "Rewrite the files in .roundtable/ from the stored sessions.",
        ),
        "forget": ("forget", "forget_command", "Remove a session from the list; exported files stay."),
        "gc": ("forget", "gc_command", "Delete the transcripts of old sessions; decisions are kept."),
    },
    "What was decided": {
        "chronicle": ("memory", "chronicle_group", "List and search the decisions of this workspace."),
        "decrees": ("memory", "decrees_group", "List, add and lift decrees: proposals you rejected, with the reason."),
        "errors": ("memory", "errors_group", "List, close and reopen the errors that `code-red` diagnosed."),
        "predictions": (
            "memory",
            "predictions_group",
            "List the predictions of outvoted seats and record which came true.",
        ),
    },
    "Set-up": {
        "init": ("init", "init_command", "Set up a table here: find models and write the config."),
        "config": ("config", "config_group", "Show and change settings."),
        "demo": ("demo", "demo_command", "Run a real meeting on an embedded model: no key, no account."),
        "doctor": (
            "doctor",
            "doctor_command",
            "Check folders, config, stored sessions, seats and installed programs.",
        ),
        "voices": ("voices", "voices_command", "List the available voices."),
        "keys": ("keys", "keys_group", "Store, list and remove API keys."),
        "models": (
            "models",
            "models_group",
            "List, download and choose models that run on this machine.",
        ),
        "trust": (
            "config",
            "trust_command",
            "Allow this workspace's config, meetings and prompts to take effect.",
        ),
        "completion": ("completion", "completion_command", "Print the shell completion script."),
        "mcp": ("mcp_server", "mcp_command", "Let other programs use Roundtable over MCP."),
        "skill": ("skill", "skill_group", "Teach your coding agents when to call Roundtable."),
    },
}
"""Per heading: command, module, attribute and the one line of help, so that `--help` imports none of them."""

_TABLE = {name: entry for section in COMMANDS.values() for name, entry in section.items()}


def _change_folder(_: click.Context, __: click.Parameter, workspace: str | None) -> None:
    """Change to the folder of -C, for the option and for every command."""
    if workspace is None:
        return
    try:
        os.chdir(workspace)
    except FileNotFoundError:
        from roundtable.core.text.sanitize import sanitize_line

        raise click.ClickException(
            f"Folder not found: {sanitize_line(workspace)}. Give an existing folder with --workspace."
        ) from None
    except OSError as error:
        raise click.BadParameter(f"{workspace}: {error.strerror}.", param_hint="-C") from None


_WORKSPACE_OPTION = click.Option(
    ["-C", "--workspace"], hidden=True, is_eager=True, expose_value=False, callback=_change_folder
)
"""Lets `-C` also follow the command."""


class LazyCommandGroup(click.Group):
    """A command group that imports a command when it is called and turns errors into sentences and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, in the order of the table."""
        return list(_TABLE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if there is none of this name."""
        if cmd_name not in _TABLE:
            return None
        module, attribute, _ = _TABLE[cmd_name]
        command = getattr(import_module(f"{__package__}.{module}"), attribute)
        if _WORKSPACE_OPTION not in command.params:
            command.params.append(_WORKSPACE_OPTION)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or fail with the nearest name."""
        if args[0] not in _TABLE and not args[0].startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            similar = get_close_matches(args[0], _TABLE, 1)
            hint = f"Did you mean `roundtable {similar[0]}`?" if similar else "`roundtable --help` lists the commands."
            ctx.fail(f"Unknown command {args[0]}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the commands under their headings."""
        for heading, section in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, help) for name, (_, _, help) in section.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete command names without importing the commands."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=row[2]) for name, row in _TABLE.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an exception becomes an error message and an exit code."""
        try:
            _check_current_folder()
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            from roundtable.doors.cli.output import print_error_with_help

            ctx.exit(print_error_with_help(error, debug=bool(ctx.params.get("debug"))))


@click.command(cls=LazyCommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "-C",
    "--workspace",
    metavar="DIR",
    is_eager=True,
    expose_value=False,
    callback=_change_folder,
    help="Run in this folder; can also be given after the command.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error; can also be given after the command.")
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
    """Run the command line and exit with a documented exit code."""
    _open_closed_streams()
    sys.exit(_run(_debug_first(sys.argv[1:])))


def _open_closed_streams() -> None:
    """Connect standard streams that the caller closed to the null device; else our files would take their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            while os.open(os.devnull, os.O_RDWR) < number:
                pass
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))


def _check_current_folder() -> None:
    """Raise UsageError if the current folder does not exist any more or has a name that cannot be recorded."""
    from roundtable.core.faults import UsageError
    from roundtable.core.text.sanitize import sanitize_line

    try:
        os.getcwd().encode()
    except OSError:
        raise UsageError(
            "The current folder no longer exists.", "Change to another folder, or give one with `-C`."
        ) from None
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The path of this folder is not valid UTF-8: {sanitize_line(error.object)}.",
            "Rename the folder, or use another one.",
        ) from None


def _run(args: list[str]) -> int:
    try:
        result = cli.main(args, prog_name="roundtable", standalone_mode=False)
    except click.ClickException as error:
        from roundtable.doors.cli.stderr import redact_cli_stderr

        with redact_cli_stderr():
            error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        return 130
    return result if isinstance(result, int) and not isinstance(result, bool) else 0


def _debug_first(args: list[str]) -> list[str]:
    """Move `--debug` before the command, because people append it to the command that failed."""
    options = args[: args.index("--")] if "--" in args else args
    if "--debug" not in options:
        return args
    return ["--debug", *(arg for arg in options if arg != "--debug"), *args[len(options) :]]


if __name__ == "__main__":
    main()
