"""The meetings that have a command of their own: each is `discuss` with its rules named and few options."""

from __future__ import annotations

from typing import Any

import click

from roundtable.doors.cli.meeting_options import (
    MEETING,
    Given,
    choices_option,
    meeting_options,
    question_argument,
    round_settings,
    rounds_option,
)
from roundtable.doors.cli.open_meeting import hold
from roundtable.doors.cli.options import HeadedCommand, option


@click.command(cls=HeadedCommand)
@question_argument()
@option(MEETING, "--follow-up-once", "follow_up", is_flag=True, help="Hold one more round if their stances differ.")
@meeting_options("decree")
def ask(question: str, follow_up: bool, **given: Any) -> int:
    """Get a second opinion: one round, and one more if they differ.

    Two seats or more answer at once; what they said is put together in their own words. The second
    round is held only with --follow-up-once, and only where their stances differ.

    \b
    Examples:
      roundtable ask "Should we split this repository?"
      roundtable ask "Is this plan sound?" -f docs/rollout.md --follow-up-once
    """
    return hold(Given(question, meeting="second-opinion", settings={"follow_up": follow_up}, **given))


@click.command(cls=HeadedCommand)
@question_argument()
@meeting_options("interjection-2", "choose", "execute", "decree")
@rounds_option
def debate(question: str, rounds: int | None, **given: Any) -> int:
    """Have the seats agree, object and add until nobody objects.

    All seats answer at once, then say AGREE, OBJECT or ADD in rounds. Where they cannot agree you
    break the tie. Nothing is carried out without your yes. `roundtable pause`, `say` and `resume`
    in another terminal let you interject at any time.

    \b
    Examples:
      roundtable debate "REST, GraphQL or tRPC for the new API?"
      roundtable debate "How do we shard the users?" --context src/db --rounds 3
    """
    return hold(Given(question, meeting="debate", settings=round_settings(rounds), **given))


@click.command("code-red", cls=HeadedCommand)
@question_argument()
@meeting_options("outcome", "decree")
@rounds_option
def code_red(question: str, rounds: int | None, **given: Any) -> int:
    """Have a fault diagnosed: triage, blind, then together.

    Say what you see. Each seat first looks alone, so that nobody follows the first guess; they
    converge on a root cause, asking for files as they need them. At the end you choose: fix it now,
    a report only, or a line in the error log for later.

    \b
    Examples:
      roundtable code-red "login crashes on submit since yesterday"
      roundtable code-red "p99 doubled" -f logs/api.txt --answer outcome=log
    """
    return hold(Given(question, meeting="code-red", settings=round_settings(rounds), **given))


@click.command(cls=HeadedCommand)
@question_argument()
@choices_option
@meeting_options("choose", "decree")
def vote(question: str, **given: Any) -> int:
    """Have ideas pitched, discussed and ranked by ballot.

    Every seat pitches an idea, or takes one of the options you give; all are discussed and then
    ranked. A ballot that ends in a tie is yours to break.

    \b
    Examples:
      roundtable vote "Which feature do we build next?"
      roundtable vote "Its name?" --option Round --option Oval --option Square
    """
    return hold(Given(question, meeting="vote", **given))
