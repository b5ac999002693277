"""What seats do with candidates that running cannot tell apart: judge them blind, and merge them by structure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide import merge_ruling, trial_outcome
from roundtable.core.decide.order_swapped import standing
from roundtable.core.effects import CandidatesTried, Synthesised
from roundtable.core.ports import Table
from roundtable.core.values import Digest, Expect, Prompt, Right, Round, Turns
from roundtable.core.verdict import Directives
from roundtable.meetings.meeting import PlannedRound
from roundtable.meetings.splicing import Refining, spliced, written_as
from roundtable.meetings.try_candidates import WHOLE, all_written, form_of
from roundtable.meetings.write_change import Course

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
