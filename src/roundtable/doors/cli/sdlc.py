"""`sdlc`: from an idea to a running program in stages, with an approval after each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from roundtable.core.faults import UsageError
from roundtable.core.handover import is_session_handover_path_unnamed
from roundtable.core.text.sanitize import sanitize_line
from roundtable.doors.cli.meeting_options import MeetingRequest, cli_meeting_options, cli_question_argument
from roundtable.doors.cli.open_meeting import cli_prepare_and_run_meeting
from roundtable.doors.cli.options import SectionCommand, cli_section_option
from roundtable.doors.cli.output import print_note, resolve_cli_path_argument
from roundtable.doors.cli.seat_choice import parse_cli_name_value_option

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable, StageOptions

STAGES_HEADING = "The stages"
PROJECT_HEADING = "The project"
CONTINUE_STAGES = "stages=continue"


@click.command(cls=SectionCommand)
@cli_question_argument("idea")
@cli_section_option(
    STAGES_HEADING,
    "--stages",
    "way",
    default="sdlc",
    metavar="WAY|FILE",
    help="Stages to run: sdlc, spec, code or no-docker (see above), or a TOML file of your own.",
)
@cli_section_option(STAGES_HEADING, "--only", multiple=True, metavar="STAGE,…", help="Run only these stages.")
@cli_section_option(STAGES_HEADING, "--skip", multiple=True, metavar="STAGE,…", help="Skip these stages.")
@cli_section_option(
    STAGES_HEADING,
    "--instruct",
    multiple=True,
    metavar="STAGE=TEXT",
    help="Extra instructions for one stage; repeatable.",
)
@cli_section_option(
    STAGES_HEADING,
    "--rounds",
    multiple=True,
    metavar="[STAGE=]N",
    help="Maximum rounds per stage before Roundtable asks you how to continue (default 3). "
    "Review stages ignore this option.",
)
@cli_section_option(
    STAGES_HEADING,
    "--judge",
    multiple=True,
    metavar="[STAGE=]SEAT",
    help="Seat that judges the answers; by default the seats take turns as judge.",
)
@cli_section_option(
    STAGES_HEADING,
    "--speaking",
    type=click.Choice(["blind", "sequential"]),
    help="Ask the seats in parallel (blind) or one after the other (sequential). Review stages ignore this option.",
)
@cli_section_option(
    STAGES_HEADING,
    "--yes",
    is_flag=True,
    help="Continue after each stage without asking. Writing files still needs your approval.",
)
@cli_section_option(
    PROJECT_HEADING, "--from", "existing", metavar="DIR", help="Work on the existing project in this folder."
)
@cli_section_option(
    PROJECT_HEADING,
    "--into",
    metavar="DIR",
    help="Folder for the new project (default: a folder here, named after the idea).",
)
@cli_meeting_options("stages", "rerun", "deliver", "approve", "approve-tests", "destroy", "decree")
def sdlc_command(question: str, existing: str | None, into: str | None, yes: bool, **options: Any) -> int:
    """Take an idea through seven stages to a running program.

    The stages are requirements, architecture, development, code review, QA, DevOps, and execution and
    analysis. In each stage all seats answer and a judge decides whether they agree. Then you choose:
    continue, repeat the stage, go back to an earlier one, skip the next one, or end here.
    `--stages spec` is requirements and architecture, `code` is development and review, `no-docker` is
    everything up to QA.

    A TOML file of your own lists stages as [[stages]] with name, title, role, kind (discussion,
    files, review, run), task and tokens. A stage with the name of a built-in one needs only the fields to change. A
    file in `stages/` of your config folder or of .roundtable/ can be given by its name.

    \b
    Examples:
      roundtable sdlc "a to-do API with SQLite"
      roundtable sdlc "a shop" --stages spec --instruct architecture="Use SQLite."
      roundtable sdlc "add a search" --from ../shop --skip devops --rounds 2
      roundtable sdlc "a converter" --stages code --yes --budget-usd 2

    From another terminal: roundtable gates, answer, say, rollback, chat, diff-sessions.
    """
    stage_options = _stage_options(
        {name: options.pop(name) for name in ("only", "skip", "instruct", "rounds", "judge")}
    )
    stage_options = msgspec.structs.replace(
        stage_options, way=_absolute_stage_file(options.pop("way")), speaking=options.pop("speaking") or ""
    )
    settings = _project_settings(question, existing, into)
    answers = options.pop("answers")
    request = MeetingRequest(question, "idea", "sdlc", settings=settings, answers=answers, **options)
    # A stated budget is the yes to spending within it, so with nobody there it goes on by itself.
    if yes or (request.unattended and (request.budget_usd is not None or request.budget_tokens is not None)):
        request = msgspec.structs.replace(request, answers=(*answers, CONTINUE_STAGES))
    project = Path(existing).expanduser().resolve() if existing is not None else None
    return cli_prepare_and_run_meeting(request, lambda desk: _with_stages(desk, request, stage_options), project)


def _with_stages(desk: Roundtable, request: MeetingRequest, stage_options: StageOptions) -> MeetingRequest:
    from roundtable.core.stages import encode_session_stages

    stages = desk.meetings.find_stages(stage_options.way, stage_options)
    if request.settings["existing"]:
        print_note(f"Project folder: {sanitize_line(str(desk.workspace))}.")
    return msgspec.structs.replace(request, settings={**request.settings, "stages": encode_session_stages(stages)})


def _stage_options(typed: dict[str, tuple[str, ...]]) -> StageOptions:
    from roundtable.app.desk import StageOptions

    def by_stage(name: str, form: str) -> dict[str, str]:
        return dict(
            parse_cli_name_value_option(text, f"--{name}", form)
            if "=" in text
            else (StageOptions.all_stages, text.strip())
            for text in typed[name]
        )

    rounds = by_stage("rounds", "STAGE=N")
    if invalid := next((number for number in rounds.values() if not number.isdecimal()), ""):
        raise UsageError(
            f"--rounds {sanitize_line(invalid, 60)} is not a number.", "Write --rounds N or --rounds STAGE=N."
        )
    return StageOptions(
        only=_split_names(typed["only"]),
        skip=_split_names(typed["skip"]),
        instructions=dict(parse_cli_name_value_option(text, "--instruct", "STAGE=TEXT") for text in typed["instruct"]),
        rounds={stage: int(number) for stage, number in rounds.items()},
        judge=by_stage("judge", "STAGE=SEAT"),
    )


def _split_names(typed: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for text in typed for name in text.split(",") if name.strip())


def _absolute_stage_file(way: str) -> str:
    """The absolute path of a stage file, taken before the folder changes to the project."""
    from roundtable.app.desk import StageOptions

    return StageOptions.resolve_way(way)


def _project_settings(question: str, existing: str | None, into: str | None) -> dict[str, Any]:
    """The settings for the project folder; an existing project is the workspace and is edited in place."""
    if existing is None:
        return {"existing": False, "into": str(_new_project_folder(question, into))}
    if into is not None:
        raise UsageError(
            "--into creates a project, but `--from` edits the project in place.", "Use either --into or --from."
        )
    if not Path(existing).expanduser().is_dir():
        raise UsageError(f"Folder not found: {sanitize_line(existing, 60)}.", "Give the project's folder with --from.")
    return {"existing": True, "into": ""}


def _new_project_folder(question: str, into: str | None) -> Path:
    """The folder for a new project: the one given, or an unused one named after the idea."""
    if into is not None:
        path = resolve_cli_path_argument(into)
        if is_session_handover_path_unnamed(path.name):
            raise UsageError(
                f"--into {sanitize_line(into, 60)} is not a folder name.", "Give a new folder with --into."
            )
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise UsageError(
                f"{sanitize_line(str(path))} already exists and is not an empty folder.",
                "Give a new folder with --into.",
            )
        return path
    from roundtable.app.desk import Setup

    name = Setup.folder_name(question)
    names = (name if number == 1 else f"{name}-{number}" for number in range(1, 1000))
    return Path.cwd() / next(name for name in names if not (Path.cwd() / name).exists())
