"""One seat judges what the others said, unsigned; the judge's seat goes round, and one that fails is replaced.

Unless the person named it, nobody judges its own words while somebody else can. Who does reads its own among the
others', under no name, and the stage says so and why.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.ruling import rule_by_judge as ruling_of
from roundtable.core.text.wording import join_names
from roundtable.core.values import Expect, Move, Outcome, Prompt, Right, Turns
from roundtable.meetings.stages.context import StageContext

NONE_OPTION = "none"
"""What the person answers who wants none of what is open."""
NO_JUDGE_LIMITS_REACHED = "No judge was asked: the limits of the session were reached"
MAX_OPTIONS_SHOWN = 8
MAX_OPTION_LENGTH = 2_000
"""How many ways a person is asked to choose from, and the letters of one: a judge can write thousands."""


class JudgeResult(msgspec.Struct, frozen=True):
    """What the judge said, if one could be heard: its move, and what has to be known of who it was.

    `own_words` says that it could only read its own among the others', since everybody who can judge had spoken;
    `limited` that a judge was wanted and none was asked any more, since the limits of the session were reached.
    """

    move: Move | None = None
    notices: tuple[str, ...] = ()
    own_words: bool = False
    limited: bool = False

    @property
    def judge(self) -> str:
        """Who judged."""
        return self.move.seat if self.move else ""

    @property
    def consensus(self) -> bool:
        """Whether it found one."""
        return ruling_of(self.move).outcome is Outcome.REACHED

    @property
    def options(self) -> tuple[str, ...]:
        """What is still open, as the judge puts it."""
        verdict = self.move.verdict if self.move else None
        return (verdict.options or ((verdict.summary,) if verdict.summary else ())) if verdict else ()

    @property
    def bullets(self) -> str:
        """The same for the seats, a line each."""
        return "\n".join(f"- {it}" for it in self.options)

    @property
    def shown(self) -> tuple[str, ...]:
        """The same for the person, no more and no longer than they can choose from."""
        return tuple(
            it if len(it) <= MAX_OPTION_LENGTH else f"{it[: MAX_OPTION_LENGTH - 1]}…"
            for it in self.options[:MAX_OPTIONS_SHOWN]
        )

    @property
    def unshown(self) -> str:
        """How much more is open than is shown to the person; empty where that is all."""
        more = len(self.options) - MAX_OPTIONS_SHOWN
        return f"{more} more of what it calls open {'is' if more == 1 else 'are'} on the record." if more > 0 else ""

    @property
    def heard(self) -> str:
        """What the person is told of it where they have to decide themselves."""
        if self.judge:
            return "The judge sees no consensus"
        return NO_JUDGE_LIMITS_REACHED if self.limited else "No judge could be heard"


def unsign_answers(setting: StageContext, moves: Sequence[Move]) -> tuple[str, ...]:
    """What was said, each under no name but its label."""
    return tuple(f"{setting.table.labels[it.seat]}:\n{it.text}" for it in moves)


def order_judges(setting: StageContext, wrote: Sequence[str]) -> tuple[str, ...]:
    """Who is asked to judge, one after the other until one can be heard.

    First whom the stage names, then the seats from where the turn has come to, those before all who wrote nothing.
    """
    able = _able(setting)
    at = setting.index % len(able) if able else 0
    rotated = [*able[at:], *able[:at]]
    apart = [it for it in rotated if it not in wrote]
    named = [setting.stage.judge] if setting.stage.judge in able else []
    return tuple(dict.fromkeys((*named, *apart, *rotated)))


async def ask_stage_judge(
    setting: StageContext, round: str, prompt: Prompt, expect: Expect, wrote: Sequence[str]
) -> JudgeResult:
    """The first judge who can be heard on this round's words; nobody where none can."""
    turns = Turns(visibility="none", secret=True, judging=True, stage=setting.name)
    failed: list[str] = []
    for number, seat in enumerate(order_judges(setting, wrote), 1):
        name = f"{round}-judge" if number == 1 else f"{round}-judge-{number}"
        if not await setting.table.may_open(name):
            said = () if failed else (f"{NO_JUDGE_LIMITS_REACHED}.",)
            return JudgeResult(notices=(*_notices(setting, "", wrote, failed), *said), limited=not failed)
        heard = (await setting.table.ask(name, prompt, expect=expect, seats=(seat,), turns=turns)).move_of(seat)
        if heard is not None and heard.verdict.counts:
            notices = _notices(setting, seat, wrote, failed)
            return JudgeResult(heard, notices, own_words=seat in wrote and _read_among_all(setting, wrote))
        failed.append(seat)
    return JudgeResult(notices=_notices(setting, "", wrote, failed))


def _able(setting: StageContext) -> list[str]:
    return [seat.name for seat in setting.table.charter.seats if Right.JUDGE in seat.rights]


def _notices(setting: StageContext, judge: str, wrote: Sequence[str], failed: Sequence[str]) -> tuple[str, ...]:
    said = [f"{join_names(failed)} could not be heard as judge."] if failed else []
    if judge in wrote and not _read_among_all(setting, wrote):
        others = [it for it in _able(setting) if it not in wrote]
        why = "since no other could be heard" if others else "since nobody else can judge here"
        why = "as you named it" if judge == setting.stage.judge else why
        whose = "its own words among the others', unsigned" if len(wrote) > 1 else "nothing but its own words"
        said.append(f"{judge} judged {whose}, {why}.")
    return tuple(said)


def _read_among_all(setting: StageContext, wrote: Sequence[str]) -> bool:
    """Whether whoever judges reads its own words among others', since all who can judge have spoken."""
    return len(wrote) > 1 and set(_able(setting)) <= set(wrote)
