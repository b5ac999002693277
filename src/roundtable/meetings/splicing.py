"""Puts what others have better into one candidate: by structure, and in words only what cannot be done so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from roundtable.core.changeset import Operation
from roundtable.core.decide import merge_ruling
from roundtable.core.effects import (
    Candidate,
    Drafted,
    DraftMove,
    MergedTried,
    Synthesise,
    Synthesised,
    TryCandidates,
    TryMerged,
)
from roundtable.core.ports import Table
from roundtable.core.replies.file_changes import changes_of
from roundtable.core.values import Digest, Expect, Prompt, Round, Turns
from roundtable.meetings.try_candidates import done


class Refining(msgspec.Struct, frozen=True):
    """How the base's author is asked for what cannot be spliced; `prompt` is made for the draft as it then is."""

    round: str
    prompt: Callable[[Synthesised], Awaitable[Prompt]]
    expect: Expect
    turns: Turns


class Spliced(msgspec.Struct, frozen=True):
    """What came of it. `broke` says how it failed what the base had passed, so that the base stands alone.

    `undone` are the directives that nobody carried out.
    """

    draft: Digest
    made: Synthesised
    broke: str = ""
    undone: tuple[str, ...] = ()


def written_as(candidate: Candidate, rounds: Sequence[Round]) -> Sequence[Operation]:
    """The change of a candidate as its seat wrote it."""
    move = next(it for round in rounds if round.name == candidate.round and (it := round.by(candidate.seat)))
    return changes_of(move.text).operations


async def spliced(
    table: Table,
    stage: str,
    base: Candidate,
    drafts: Mapping[str, Digest],
    wanted: Sequence[str],
    refining: Refining,
    tried: TryCandidates,
) -> Spliced:
    """Splice in what is wanted; what cannot be spliced is asked for once. What breaks anything is dropped.

    `tried` is how the candidates were: what is made of the base has to pass all of that which the base passed.
    """
    effect = Synthesise(base.seat, dict(drafts), tuple(wanted))
    made = await done(table, f"{stage}/synthesise", effect, Synthesised)
    draft, undone = made.draft, tuple(it.directive for it in made.left)
    if made.left and await table.may_open(refining.round):
        refined = await _refined(table, base.seat, made, refining)
        draft, undone = (refined, ()) if refined else (draft, undone)
    if draft == base.draft:
        return Spliced(draft, made, undone=undone)
    effect = TryMerged(draft, base.seat, tried.rounds, tried.seats, tried.over)
    again = (await done(table, f"{stage}/try-merged", effect, MergedTried)).candidate
    if broke := merge_ruling.worse(again, base):
        return Spliced(base.draft, Synthesised(base.draft), broke, tuple(wanted))
    return Spliced(again.draft, made, undone=undone)


async def _refined(table: Table, seat: str, made: Synthesised, refining: Refining) -> Digest:
    """The draft with what the base's author made of the rest; nothing where it cannot be written."""
    files = merge_ruling.concerned(made)
    prompt = await refining.prompt(made)
    prompt = msgspec.structs.replace(prompt, quotes={**prompt.quotes, "wanted": merge_ruling.left_over(made)})
    expect = msgspec.structs.replace(refining.expect, choices=files)
    said = await table.ask(refining.round, prompt, expect=expect, seats=(seat,), turns=refining.turns)
    if not said.by(seat):
        return ""
    move = DraftMove(refining.round, seat, made.draft, files)
    refined = await done(table, f"{refining.round}/draft", move, Drafted)
    return "" if refined.refused else refined.draft
