"""What seats do with candidates that running cannot tell apart: judge them blind, and merge them by structure.

Puts what others have better into one candidate: by structure, and in words only what cannot be done so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from roundtable.core.changeset import Operation
from roundtable.core.decide import merge_ruling, trial_outcome
from roundtable.core.decide.merge_ruling import standing
from roundtable.core.effects import (
    Candidate,
    CandidatesTried,
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
from roundtable.core.values import Digest, Expect, Prompt, Right, Round, Turns
from roundtable.core.verdict import Directives
from roundtable.meetings.meeting import PlannedRound
from roundtable.meetings.try_candidates import WHOLE, all_written, done, form_of
from roundtable.meetings.write_change import Course


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


JUDGE = PlannedRound("judge", "judge-merge", Turns(visibility="none", secret=True), likely=False)
REFINE = PlannedRound("refine", WHOLE, Turns(visibility="own"), likely=False)


class Merged(msgspec.Struct, frozen=True):
    """Whose candidate is the base, what it came to, who wrote any of that, how, and whether any verdict stands."""

    base: str
    draft: Digest
    authors: tuple[str, ...]
    why: str = ""
    ruled: bool = False


async def judged(table: Table, course: Course, rounds: Sequence[Round], result: CandidatesTried) -> Merged:
    """The seats compare what running could not tell apart; nobody judges its own work where others can."""
    best = trial_outcome.alike(result)
    by = {it.seat: it for it in best}
    names = merge_ruling.candidate_names(best, table.labels)
    judges = [seat.name for seat in table.seats if Right.JUDGE in seat.rights]
    impartial = [seat for seat in judges if seat not in names.values()]
    first, number = best[0], course.rounds + 1
    course.rounds += 2
    alone = Merged(first.seat, first.draft, (first.seat,), merge_ruling.unjudged(first.seat))
    if not judges:
        return alone
    heard: list[dict[str, Directives]] = []
    for read, purpose in ((names, "judge-ab"), (merge_ruling.swapped(names), "judge-ba")):
        name = f"{course.stage}/{number}-{purpose}"
        if not await table.may_open(name):
            return alone
        texts = tuple(f"{it}:\n{merge_ruling.unsigned(written_as(by[seat], rounds))}" for it, seat in read.items())
        prompt = Prompt(JUDGE.template, quotes={"candidates": texts})
        expect = Expect(JUDGE.codec, tuple(read))
        said = await table.ask(name, prompt, expect=expect, seats=impartial or judges, turns=JUDGE.turns)
        counted = [(it.seat, it.verdict.directives) for it in said.moves if it.verdict.counts]
        heard.append({judge: merge_ruling.signed(ruling, read) for judge, ruling in counted if ruling})
    bases = ({judge: it.base for judge, it in order.items()} for order in heard)
    verdicts = standing(*bases, candidates=names.values())
    base = next(iter(verdicts.tally()), first.seat)
    wanted = merge_ruling.wanted(heard, verdicts, base, names.values())
    draft = next(it.draft for it in best if it.seat == base)
    stands = Merged(
        base, draft, (base,), merge_ruling.judged(heard, verdicts, base, wanted.once), bool(verdicts.tally())
    )
    directives = wanted.directives
    return await _merged(table, course, rounds, result, stands, directives) if directives else stands


async def _merged(
    table: Table,
    course: Course,
    rounds: Sequence[Round],
    result: CandidatesTried,
    alone: Merged,
    wanted: Sequence[str],
) -> Merged:
    """The base with what the judges want in it, or alone where that did not pass."""
    best = {it.seat: it for it in trial_outcome.alike(result)}
    base, why = alone.base, alone.why

    async def refine(made: Synthesised) -> Prompt:
        others = merge_ruling.spoken_of(made, [seat for seat in best if seat != base])
        texts = tuple(f"{it}:\n{merge_ruling.unsigned(written_as(best[it], rounds))}" for it in others)
        return Prompt(REFINE.template, quotes={"others": texts})

    refining = Refining(f"{course.stage}/{course.rounds}-refine", refine, form_of(table), REFINE.turns)
    drafts = {seat: it.draft for seat, it in best.items()}
    it = await spliced(table, course.stage, best[base], drafts, wanted, refining, all_written(rounds))
    if it.broke:
        stands = f"{why} What the judges wanted besides did not pass, so {base}'s stands alone."
        return msgspec.structs.replace(alone, draft=it.draft, why=stands)
    if it.draft == alone.draft:
        return alone
    authors = tuple(dict.fromkeys((base, *(took.seat for took in it.made.took))))
    return Merged(base, it.draft, authors, f"{why} {merge_ruling.spliced(it.made, base)}", alone.ruled)
