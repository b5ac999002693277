"""The judge of a stage: one seat that reads all answers unsigned. Seats judge in turn; a judge that fails is replaced.

Unless the person named it, no seat judges its own words while another can. If every seat answered, the judge's own
answer is among the others, unsigned, and the stage says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.ruling import rule_by_judge as ruling_of
from roundtable.core.reasons import JudgedOwnAnswer, JudgeNotAsked, JudgesMissing, Reason, Reasons
from roundtable.core.text.wording import pluralize
from roundtable.core.values import Expect, Move, Outcome, Prompt, Right, Turns
from roundtable.meetings.stages.context import StageContext
from roundtable.report.stage_notices import NO_JUDGE_ASKED

NONE_OPTION = "none"
"""The person's answer if none of the open options is right."""
MAX_OPTIONS_SHOWN = 8
MAX_OPTION_LENGTH = 2_000
"""Limits of what a person can choose from: the number of options, and the characters of each."""


class JudgeResult(msgspec.Struct, frozen=True):
    """The judge's verdict, or none if no judge answered.

    `judged_own_words` says that its own answer was among those it read, because every possible judge had answered;
    `limits_reached` says that the limits of the session left no room for a judge.
    """

    move: Move | None = None
    notices: Reasons = ()
    judged_own_words: bool = False
    limits_reached: bool = False

    @property
    def judge(self) -> str:
        """The seat that judged."""
        return self.move.seat if self.move else ""

    @property
    def consensus(self) -> bool:
        """Whether the judge found a consensus."""
        return ruling_of(self.move).outcome is Outcome.REACHED

    @property
    def options(self) -> tuple[str, ...]:
        """The open points in the judge's words."""
        verdict = self.move.verdict if self.move else None
        return (verdict.options or ((verdict.summary,) if verdict.summary else ())) if verdict else ()

    @property
    def option_list(self) -> str:
        """The open points as a list, for the seats."""
        return "\n".join(f"- {option}" for option in self.options)

    @property
    def options_for_person(self) -> tuple[str, ...]:
        """The open points for the person, limited in number and length."""
        return tuple(
            option if len(option) <= MAX_OPTION_LENGTH else f"{option[: MAX_OPTION_LENGTH - 1]}…"
            for option in self.options[:MAX_OPTIONS_SHOWN]
        )

    @property
    def hidden_options_notice(self) -> str:
        """A sentence on how many open points the person is not shown; empty if none."""
        more = len(self.options) - MAX_OPTIONS_SHOWN
        return f"{pluralize(more, 'more open point')} can be read in the record." if more > 0 else ""

    @property
    def verdict_clause(self) -> str:
        """A clause on the verdict, for a person who has to decide."""
        if self.judge:
            return "The judge sees no consensus"
        return NO_JUDGE_ASKED if self.limits_reached else "No judge answered"


def render_stage_prompt_answers_unsigned(context: StageContext, moves: Sequence[Move]) -> tuple[str, ...]:
    """The answers, each under its seat's label."""
    return tuple(f"{context.table.labels[move.seat]}:\n{move.text}" for move in moves)


def _order_judges(context: StageContext, authors: Sequence[str]) -> tuple[str, ...]:
    """The seats in the order in which they are asked to judge, until one answers.

    First the seat that the stage names, then seats that wrote nothing, then the others, in rotation.
    """
    judges_in_order = _possible_judges(context)
    at = context.index % len(judges_in_order) if judges_in_order else 0
    rotated = [*judges_in_order[at:], *judges_in_order[:at]]
    silent = [seat for seat in rotated if seat not in authors]
    named = [context.stage.judge] if context.stage.judge in judges_in_order else []
    return tuple(dict.fromkeys((*named, *silent, *rotated)))


async def ask_stage_judge(
    context: StageContext, round: str, prompt: Prompt, expect: Expect, authors: Sequence[str]
) -> JudgeResult:
    """The verdict of the first judge that answers."""
    turns = Turns(visibility="none", secret=True, judging=True, stage=context.name)
    failed: list[str] = []
    for number, seat in enumerate(_order_judges(context, authors), 1):
        name = f"{round}-judge" if number == 1 else f"{round}-judge-{number}"
        if not await context.table.may_open(name):
            notices = (JudgesMissing(tuple(failed)),) if failed else (JudgeNotAsked(),)
            return JudgeResult(notices=notices, limits_reached=not failed)
        ruling = (await context.table.ask(name, prompt, expect=expect, seats=(seat,), turns=turns)).move_of(seat)
        if ruling is not None and ruling.verdict.counts:
            notices = _judge_notices(context, seat, authors, failed)
            return JudgeResult(
                ruling, notices, judged_own_words=seat in authors and _every_judge_wrote(context, authors)
            )
        failed.append(seat)
    return JudgeResult(notices=_judge_notices(context, "", authors, failed))


def _possible_judges(context: StageContext) -> list[str]:
    return [seat.name for seat in context.table.charter.seats if Right.JUDGE in seat.rights]


def _judge_notices(context: StageContext, judge: str, authors: Sequence[str], failed: Sequence[str]) -> Reasons:
    notices: list[Reason] = [JudgesMissing(tuple(failed))] if failed else []
    if judge in authors and not _every_judge_wrote(context, authors):
        others = any(seat not in authors for seat in _possible_judges(context))
        because = "no_other_answered" if others else "no_other_can"
        because = "named" if judge == context.stage.judge else because
        notices.append(JudgedOwnAnswer(judge, because, alone=len(authors) == 1))
    return tuple(notices)


def _every_judge_wrote(context: StageContext, authors: Sequence[str]) -> bool:
    """Whether every possible judge wrote an answer, so that the judge reads its own among others."""
    return len(authors) > 1 and set(_possible_judges(context)) <= set(authors)
