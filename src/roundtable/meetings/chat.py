"""A question about another session, put to the seat that judges there; nothing is decided."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.ports import Table
from roundtable.core.reasons import NobodyAnswered, QuestionAnswered
from roundtable.core.values import Decision, Expect, Outcome, Prompt, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound

ANSWER = PlannedRound("answer", "free", Turns(visibility="none", judging=True))
ROUND = "chat/1-answer"


class ChatSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A chat has no settings."""


def _plan_chat_rounds(settings: ChatSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """The round of a chat."""
    return (ANSWER,)


async def _hold_chat_meeting(table: Table) -> Decision:
    """Ask the question and return the answer."""
    answers = await table.ask(ROUND, Prompt(ANSWER.template), expect=Expect(ANSWER.codec), turns=ANSWER.turns)
    if not answers.moves:
        return Decision(
            Outcome.INSUFFICIENT,
            (NobodyAnswered(),),
            electorate=answers.electorate,
            missing=answers.missing,
            basis=(ROUND,),
        )
    move = answers.moves[0]
    return Decision(
        Outcome.REACHED,
        (QuestionAnswered(move.seat),),
        text=move.text,
        author=move.seat,
        electorate=answers.electorate,
        counted=(move.seat,),
        basis=(ROUND,),
    )


MEETING = Meeting(
    "chat",
    1,
    _hold_chat_meeting,
    ChatSettings,
    _plan_chat_rounds,
    ("system", "answer"),
    "The seat that judges a session answers one question about it.",
)
