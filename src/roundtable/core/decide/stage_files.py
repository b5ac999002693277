"""What a stage says of the files that seats wrote: to a judge without names, to people with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from roundtable.core.changeset import Operation
from roundtable.core.decide.merge_ruling import name_seats_in_directive, render_unsigned_candidate
from roundtable.core.decide.trial_outcome import (
    describe_candidate_behaviour,
    describe_candidate_to_author,
    summarize_candidate_failure,
)
from roundtable.core.effects import Candidate, CandidatesTried, DraftsSynthesised
from roundtable.core.stages import Contribution
from roundtable.core.text.wording import end_sentence, join_names, join_text_lines
from roundtable.core.verdict import Directives

JUDGE_SEES_NO_CONSENSUS = "The judge sees no consensus yet. This is open:"
_TOLD = 300
_NAMED = 3
NO_STAGE_FILES_PASSED = "Nothing that was written passed what was run."
RANKED_FIRST_BY_RUNNING = "Running them put it before the others."


def eligible_stage_candidates(tried: CandidatesTried) -> tuple[Candidate, ...]:
    """Those a judge may choose from: what passed, or all that can be written as it is; the same bytes are one.

    Where more than half of them do the same for every telling input, who does otherwise is not among them.
    """
    can_be = [it for it in tried.candidates if it.draft and not it.refused]
    passed = [it for it in can_be if it.passed] or can_be
    (cluster, alike), *_ = Counter(it.cluster for it in passed).most_common(1) or [(0, 0)]
    passed = [it for it in passed if it.cluster == cluster or 2 * alike <= len(passed)]
    return tuple({it.draft: it for it in reversed(passed)}.values())[::-1]


def candidate_ranked_first(tried: CandidatesTried, among: Sequence[Candidate]) -> Candidate | None:
    """The one that running put before all others; None where it does not tell the best of them apart."""
    best = [it for it in among if it.passed and it.seat in tried.best]
    return best[0] if len(best) == 1 else None


def is_written_by_several(it: Candidate, tried: CandidatesTried) -> bool:
    """Whether others wrote the very same."""
    return sum(other.draft == it.draft for other in tried.candidates) > 1


def render_candidate_for_judge(
    it: Candidate, tried: CandidatesTried, operations: Sequence[Operation], labels: Mapping[str, str]
) -> str:
    """A candidate as the judge reads it: under its blind name, with what running it showed."""
    shown = "\n".join(filter(None, (describe_candidate_to_author(it), _differing(it, tried))))
    for seat, label in labels.items():
        shown = re.sub(rf"(?<![\w-]){re.escape(seat)}: ", f"candidate-{label}: ", shown)
    return f"candidate-{labels[it.seat]}:\nRunning it: {shown}\n{render_unsigned_candidate(operations)}"


def _differing(it: Candidate, tried: CandidatesTried) -> str:
    said = describe_candidate_behaviour(tried, it.seat)
    return f"Where they do not do the same: {said}." if said else ""


def stage_file_origins(base: Candidate, made: DraftsSynthesised) -> tuple[Contribution, ...]:
    """Whose every file is, and every part of one that came from somebody else."""
    whole = {it.path for it in made.took if not it.symbol}
    return (*(Contribution(path, "", base.seat) for path in base.files if path not in whole), *made.took)


def describe_stage_files(took: Sequence[Contribution], ruling: str) -> str:
    """What a stage came to, for the next ones: the files, and by what they were settled."""
    paths = sorted({join_text_lines(it.path) for it in took})
    return "\n".join(filter(None, (f"Files written: {', '.join(paths)}.", ruling)))


def describe_stage_ruling(directives: Directives, candidates: Sequence[str]) -> str:
    """A ruling for who comes later: the letters of its candidates mean nothing there, and no seat is to be named."""
    names = {it: "the base" if it == directives.base else "another candidate" for it in candidates}
    wanted = [name_seats_in_directive(it, names) for it in (*directives.incorporate, *directives.must_fix)]
    if not wanted:
        return "The judge took one candidate as it is."
    return "\n".join(("The judge took one candidate as the base, and wanted besides:", *(f"- {it}" for it in wanted)))


def describe_left_out_candidates(tried: CandidatesTried, among: Sequence[Candidate]) -> Iterator[str]:
    """Who wrote something that nobody was to choose, and why, a sentence each."""
    drafts = {it.draft for it in among}
    for it in tried.candidates:
        if it.draft not in drafts:
            why = (
                summarize_candidate_failure(it) or "It does otherwise than most, for inputs near to those of the task."
            )
            yield f"{it.seat}'s was left out. {why}"


def describe_candidate_doubts(it: Candidate) -> tuple[str, ...]:
    """What has to be known of a candidate that was taken although it did not pass, or without its tests."""
    said = () if it.passed else (f"{it.seat}'s did not pass what was run. {summarize_candidate_failure(it)}",)
    said += _gone_without(it)
    paths = join_names([join_text_lines(path) for path in it.without])
    return (*said, *((f"{paths} of {it.seat} was left out, since the code does not pass it.",) if paths else ()))


def _gone_without(it: Candidate) -> tuple[str, ...]:
    """Which of its files a new project has not, and why."""
    why = [end_sentence(join_text_lines(one.sentence)) for one in it.dropped[:_NAMED]]
    why += [f"So it is with {len(it.dropped) - _NAMED} more."] if len(it.dropped) > _NAMED else []
    return (f"Not all that {it.seat} wrote is in it. {' '.join(why)}",) if why else ()


def describe_candidate_run(it: Candidate, tried: CandidatesTried) -> str:
    """What the person is told of a candidate: its files, and how it ran."""
    passed = "passed what was run." if it.checks or it.tests else "there was nothing to run it against."
    how = passed if it.passed else summarize_candidate_failure(it)
    return f"{join_names([join_text_lines(path) for path in it.files])}: {how} {_differing(it, tried)}".strip()


def stage_files_question(title: str, options: Sequence[str], heard: str) -> str:
    """What the person is asked where nobody's files are agreed on; `heard` says what the judge did."""
    still = f": {'; '.join(join_text_lines(it) for it in options)}" if options else ""
    return (
        f"{title}: there is no agreement on whose files to take. {end_sentence(f'{heard}{still}')} Whose shall it be?"
    )


def describe_unfulfilled_directives(base: str, undone: Sequence[str], broke: str) -> Iterator[str]:
    """What the judge wanted and did not get, a sentence each; `broke` is what was wrong with it, if it was made."""
    if broke:
        yield f"What the judge wanted besides was dropped, so {base}'s stands alone. {join_text_lines(broke)[:_TOLD]}"
    yield from (f"The judge wanted this, and it was not done: {join_text_lines(it)}" for it in undone)
