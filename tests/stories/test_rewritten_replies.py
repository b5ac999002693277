"""A seat whose files are unreadable gets the reason and sends them again; the second reply counts."""

from __future__ import annotations

import pytest

from roundtable.core.changeset import ReplaceFile
from roundtable.core.ports import Table
from roundtable.core.reasons import Said
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.values import Decision, Expect, Outcome, Prompt, Round
from roundtable.core.verdict import ParseStatus
from roundtable.engine.run import MeetingRules
from tests.stories.session_harness import SessionHarness

LAZY = "### a.py\n```python\nx = 1\n# ... rest unchanged\n```"
WHOLE = "### a.py\n```python\nx = 1\ny = 2\n```"


async def written_replies(*, first: str, second: str) -> tuple[Round, SessionHarness]:
    """Ask one seat for files and return its recorded replies."""
    harness = SessionHarness({"turns": [{"text": first, "times": 1}, {"text": second}]}, meeting="build")
    rounds: list[Round] = []

    async def hold(table: Table) -> Decision:
        rounds.append(await table.ask("build/1-propose", Prompt("propose"), expect=Expect("changes")))
        return Decision(Outcome.REACHED, (Said("It was written."),))

    harness.meeting = MeetingRules("build", harness.rules.version, hold)
    await harness.open(seats=["claude"])
    await harness.run()
    return rounds[0], harness


@pytest.mark.feature("S3.43")
async def test_a_file_with_omitted_lines_is_requested_again_with_the_reason() -> None:
    round, harness = await written_replies(first=LAZY, second=WHOLE)
    (move,) = round.moves
    assert move.verdict.parse is ParseStatus.REPAIRED
    assert parse_reply_file_changes(move.text).operations == (ReplaceFile("a.py", "x = 1\ny = 2\n"),)
    (first, again) = harness.voices.calls
    assert "Part of a.py is omitted" in again.messages[-1].text
    assert "as one fenced block" in first.messages[-1].text, "how files are written is told at once"


async def test_a_reply_that_is_unreadable_twice_is_recorded_and_not_counted() -> None:
    round, harness = await written_replies(first=LAZY, second="Sorry, I cannot.")
    (move,) = round.moves
    assert (move.text, move.verdict.counts) == (LAZY, False)
    assert len(harness.voices.calls) == 2


async def test_a_reply_that_only_names_a_file_is_requested_again_from_the_first_prompt() -> None:
    round, harness = await written_replies(first="```python\na.py\n```", second=WHOLE)
    assert parse_reply_file_changes(round.moves[0].text).operations == (ReplaceFile("a.py", "x = 1\ny = 2\n"),)
    (first, again) = harness.voices.calls
    assert again.messages == first.messages
    assert again.seed != first.seed
