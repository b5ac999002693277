"""What seats do with candidates that running cannot tell apart: judge them blind, and merge them by structure.

Puts what others have better into one candidate: by structure, and in words only what cannot be done so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from roundtable.core.changeset import Operation
from roundtable.core.decide import merge_ruling, trial_outcome
from roundtable.core.decide.merge_ruling import compare_swapped_order_verdicts
from roundtable.core.effects import (
    Candidate,
    CandidatesTried,
    DraftMove,
    DraftsSynthesised,
    MergeTried,
    MoveDrafted,
    SynthesiseDrafts,
    TryCandidates,
    TryMerged,
)
from roundtable.core.ports import Table
from roundtable.core.replies.file_changes import parse_file_changes
from roundtable.core.values import Digest, Expect, Prompt, Right, Round, Turns
from roundtable.core.verdict import Directives
from roundtable.meetings.meeting import PlannedRound
from roundtable.meetings.try_candidates import WHOLE_FILES_CODEC, build_trial_effect, expect_changes, require_effect
from roundtable.meetings.write_change import ChangeProgress


class RefineRequest(msgspec.Struct, frozen=True):
    """How the base's author is asked for what cannot be spliced; `prompt` is made for the draft as it then is."""

    round: str
    prompt: Callable[[DraftsSynthesised], Awaitable[Prompt]]
    expect: Expect
    turns: Turns


class SpliceOutcome(msgspec.Struct, frozen=True):
    """What came of it. `broke` says how it failed what the base had passed, so that the base stands alone.

    `undone` are the directives that nobody carried out.
    """

    draft: Digest
    made: DraftsSynthesised
    broke: str = ""
    undone: tuple[str, ...] = ()


def candidate_operations(candidate: Candidate, rounds: Sequence[Round]) -> Sequence[Operation]:
    """The change of a candidate as its seat wrote it."""
    move = next(it for round in rounds if round.name == candidate.round and (it := round.move_of(candidate.seat)))
    return parse_file_changes(move.text).operations


async def splice_candidates(
    table: Table,
    stage: str,
    base: Candidate,
    drafts: Mapping[str, Digest],
    wanted: Sequence[str],
    refining: RefineRequest,
    tried: TryCandidates,
) -> SpliceOutcome:
    """Splice in what is wanted; what cannot be spliced is asked for once. What breaks anything is dropped.

    `tried` is how the candidates were: what is made of the base has to pass all of that which the base passed.
    """
    effect = SynthesiseDrafts(base.seat, dict(drafts), tuple(wanted))
    made = await require_effect(table, f"{stage}/synthesise", effect, DraftsSynthesised)
    draft, undone = made.draft, tuple(it.directive for it in made.left)
    if made.left and await table.may_open(refining.round):
        refined = await _refined(table, base.seat, made, refining)
        draft, undone = (refined, ()) if refined else (draft, undone)
    if draft == base.draft:
        return SpliceOutcome(draft, made, undone=undone)
    effect = TryMerged(draft, base.seat, tried.rounds, tried.seats, tried.over)
    again = (await require_effect(table, f"{stage}/try-merged", effect, MergeTried)).candidate
    if broke := merge_ruling.describe_merge_regression(again, base):
        return SpliceOutcome(base.draft, DraftsSynthesised(base.draft), broke, tuple(wanted))
    return SpliceOutcome(again.draft, made, undone=undone)


async def _refined(table: Table, seat: str, made: DraftsSynthesised, refining: RefineRequest) -> Digest:
    """The draft with what the base's author made of the rest; nothing where it cannot be written."""
    files = merge_ruling.files_of_unspliced_directives(made)
    prompt = await refining.prompt(made)
    prompt = msgspec.structs.replace(
        prompt, quotes={**prompt.quotes, "wanted": merge_ruling.describe_unspliced_directives(made)}
    )
    expect = msgspec.structs.replace(refining.expect, choices=files)
    said = await table.ask(refining.round, prompt, expect=expect, seats=(seat,), turns=refining.turns)
    if not said.move_of(seat):
        return ""
    move = DraftMove(refining.round, seat, made.draft, files)
    refined = await require_effect(table, f"{refining.round}/draft", move, MoveDrafted)
    return "" if refined.refused else refined.draft


JUDGE_ROUND = PlannedRound("judge", "judge-merge", Turns(visibility="none", secret=True), likely=False)
REFINE_ROUND = PlannedRound("refine", WHOLE_FILES_CODEC, Turns(visibility="own"), likely=False)


class MergedCandidate(msgspec.Struct, frozen=True):
    """Whose candidate is the base, what it came to, who wrote any of that, how, and whether any verdict stands."""

    base: str
    draft: Digest
    authors: tuple[str, ...]
    why: str = ""
    ruled: bool = False


async def judge_candidates(
    table: Table, course: ChangeProgress, rounds: Sequence[Round], result: CandidatesTried
) -> MergedCandidate:
    """The seats compare what running could not tell apart; nobody judges its own work where others can."""
    best = trial_outcome.equally_good_candidates(result)
    by = {it.seat: it for it in best}
    names = merge_ruling.blind_candidate_names(best, table.labels)
    judges = [seat.name for seat in table.seats if Right.JUDGE in seat.rights]
    impartial = [seat for seat in judges if seat not in names.values()]
    first, number = best[0], course.rounds + 1
    course.rounds += 2
    alone = MergedCandidate(first.seat, first.draft, (first.seat,), merge_ruling.describe_missing_judges(first.seat))
    if not judges:
        return alone
    heard: list[dict[str, Directives]] = []
    for read, purpose in ((names, "judge-ab"), (merge_ruling.swap_candidate_names(names), "judge-ba")):
        name = f"{course.stage}/{number}-{purpose}"
        if not await table.may_open(name):
            return alone
        texts = tuple(
            f"{it}:\n{merge_ruling.render_unsigned_candidate(candidate_operations(by[seat], rounds))}"
            for it, seat in read.items()
        )
        prompt = Prompt(JUDGE_ROUND.template, quotes={"candidates": texts})
        expect = Expect(JUDGE_ROUND.codec, tuple(read))
        said = await table.ask(name, prompt, expect=expect, seats=impartial or judges, turns=JUDGE_ROUND.turns)
        counted = [(it.seat, it.verdict.directives) for it in said.moves if it.verdict.counts]
        heard.append(
            {judge: merge_ruling.name_seats_in_directives(ruling, read) for judge, ruling in counted if ruling}
        )
    bases = ({judge: it.base for judge, it in order.items()} for order in heard)
    verdicts = compare_swapped_order_verdicts(*bases, candidates=names.values())
    base = next(iter(verdicts.tally()), first.seat)
    wanted = merge_ruling.collect_judge_directives(heard, verdicts, base, names.values())
    draft = next(it.draft for it in best if it.seat == base)
    stands = MergedCandidate(
        base,
        draft,
        (base,),
        merge_ruling.describe_judge_verdicts(heard, verdicts, base, wanted.once),
        bool(verdicts.tally()),
    )
    directives = wanted.directives
    return await _merged(table, course, rounds, result, stands, directives) if directives else stands


async def _merged(
    table: Table,
    course: ChangeProgress,
    rounds: Sequence[Round],
    result: CandidatesTried,
    alone: MergedCandidate,
    wanted: Sequence[str],
) -> MergedCandidate:
    """The base with what the judges want in it, or alone where that did not pass."""
    best = {it.seat: it for it in trial_outcome.equally_good_candidates(result)}
    base, why = alone.base, alone.why

    async def refine(made: DraftsSynthesised) -> Prompt:
        others = merge_ruling.seats_in_unspliced_directives(made, [seat for seat in best if seat != base])
        texts = tuple(
            f"{it}:\n{merge_ruling.render_unsigned_candidate(candidate_operations(best[it], rounds))}" for it in others
        )
        return Prompt(REFINE_ROUND.template, quotes={"others": texts})

    refining = RefineRequest(
        f"{course.stage}/{course.rounds}-refine", refine, expect_changes(table), REFINE_ROUND.turns
    )
    drafts = {seat: it.draft for seat, it in best.items()}
    it = await splice_candidates(table, course.stage, best[base], drafts, wanted, refining, build_trial_effect(rounds))
    if it.broke:
        stands = f"{why} What the judges wanted besides did not pass, so {base}'s stands alone."
        return msgspec.structs.replace(alone, draft=it.draft, why=stands)
    if it.draft == alone.draft:
        return alone
    authors = tuple(dict.fromkeys((base, *(took.seat for took in it.made.took))))
    return MergedCandidate(
        base, it.draft, authors, f"{why} {merge_ruling.describe_synthesis(it.made, base)}", alone.ruled
    )
