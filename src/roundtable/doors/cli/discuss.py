"""`discuss`: put a question to the table, by the rules of any meeting."""

from __future__ import annotations

from typing import Any

import click

from roundtable.doors.cli.meeting_options import (
    Given,
    choices_option,
    meeting_options,
    question_argument,
    round_settings,
    rounds_option,
    which_option,
)
from roundtable.doors.cli.open_meeting import hold
from roundtable.doors.cli.options import HeadedCommand, limit


@click.command(cls=HeadedCommand)
@question_argument()
@which_option
@choices_option
@meeting_options()
@rounds_option
@limit("max_tokens", "--max-tokens", click.IntRange, metavar="N", help="The longest single answer.")
def discuss(question: str, rounds: int | None, **given: Any) -> int:
    """Put a question to the table and follow the discussion.

    Without QUESTION, or with `-`, it is read from standard input. Ctrl-C stops the meeting and says
    how to resume it. Voices are endpoint:model, cli:agent, acp:agent, embedded:model or
    script:path.toml.

    \b
    Examples:
      roundtable discuss "REST or GraphQL for our public API?"
      roundtable discuss "Which?" --option REST --option GraphQL -f api.md:10-50
      roundtable discuss "Safe?" --seat a=openai:gpt-4o --seat b=ollama:llama3
      git log -5 | roundtable discuss - --json

    Exit codes: 0 decided, 1 our own fault or a record that cannot be used, 2 usage or config,
    3 no decision, 4 degraded under --strict, 5 held by another process,
    6 too few seats answered, 130 interrupted.
    """
    return hold(Given(question, settings=round_settings(rounds), **given))
