"""`demo`: a whole meeting on an embedded model, so that a newcomer sees a real one at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.doors.cli.displays import OutputMode
from roundtable.doors.cli.output import print_note, run_cli_command_at_desk
from roundtable.doors.cli.run_session import cli_run_and_show_session

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable

SMALLEST_MODEL, RECOMMENDED_MODEL = "smollm2-135m", "qwen2.5-coder-1.5b"
DEMO_QUESTION = "Three people want to build a web shop. Should they write one program or many small services?"
DEMO_OPTIONS = ("One program", "Many small services")
DEMO_INTRODUCTION = (
    "This is a real meeting: three seats on {title}, running on this machine, nothing scripted.\n"
    "{about}\n"
    "Watch how the meeting works rather than what it says. For useful answers, use stronger models:\n"
    "{more}"
    '  {command} discuss "…" --seat a=openai:gpt-4o   (any key or server; see `{command} voices`)\n'
)


@click.command()
@click.argument("question", default=DEMO_QUESTION)
def demo_command(question: str) -> int:
    """Run a real meeting on an embedded model: no key, no account.

    Uses the best model installed here; if there is none, downloads the smallest (98 MB). Never uses a
    paid seat, even if keys are configured.

    \b
    Examples:
      roundtable demo
      roundtable demo "Tabs or spaces?"
    """
    from roundtable.app.desk import Setup
    from roundtable.doors.cli.models import download_model_with_progress_bar

    setup = Setup.here()
    model = setup.default_model()
    if model is None:
        print_note(f"No model is installed yet; downloading {SMALLEST_MODEL} (98 MB) once.")
        download_model_with_progress_bar(SMALLEST_MODEL)
        model = setup.default_model()
    assert model is not None
    command = setup.typed_command()
    model_hint = (
        f"  {command} models get {RECOMMENDED_MODEL}        (1.1 GB, still small)\n"
        if model.name != RECOMMENDED_MODEL
        else ""
    )
    print_note(
        DEMO_INTRODUCTION.format(title=model.title or model.name, about=model.about, more=model_hint, command=command)
    )
    code = run_cli_command_at_desk(lambda desk: _hold_demo(desk, model.name, question))
    if not setup.is_on_path():
        print_note(f"`roundtable` is not on your PATH. From here, use: {command} show last")
    return code


async def _hold_demo(desk: Roundtable, model: str, question: str) -> int:
    from roundtable.app.desk import Agenda

    agenda = Agenda(
        question,
        desk.setup.embedded_seats(model),
        meeting="council",
        options=DEMO_OPTIONS if question == DEMO_QUESTION else (),
        headless=True,
    )
    state = await desk.sessions.get(await desk.meetings.open(agenda))
    return await cli_run_and_show_session(desk, state, OutputMode(), headless=True, strict=False)
