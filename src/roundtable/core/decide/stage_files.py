"""Messages on the candidates of a files stage: without names for a judge, with names for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from roundtable.core.changeset import Operation
from roundtable.core.decide.merge_ruling import render_unsigned_candidate
from roundtable.core.decide.trial_outcome import (
    describe_candidate_behaviour,
    describe_candidate_to_author,
    summarize_candidate_failure,
)
from roundtable.core.effects import Candidate, CandidatesTried
from roundtable.core.replies.judge import replace_labels_in_judge_directive
from roundtable.core.stages import Contribution
from roundtable.core.text.wording import end_sentence, join_names, join_text_lines
from roundtable.core.verdict import Directives

JUDGE_SEES_NO_CONSENSUS = "The judge sees no consensus yet. This is open:"
_TOLD = 300
_NAMED = 3
NO_STAGE_FILES_PASSED = "Nothing that was written passed what was run."
RANKED_FIRST_BY_RUNNING = "Running them put it before the others."


def eligible_stage_candidates(tried: CandidatesTried) -> tuple[Candidate, ...]:
    """Return the distinct candidates that a judge may choose from: those that pass, or else all that can be written.

    If more than half of them behave alike for every telling input, only these are eligible.
    """
    can_be = [it for it in tried.candidates if it.draft and not it.refused]
    passed = [it for it in can_be if it.passed] or can_be
    (cluster, alike), *_ = Counter(it.cluster for it in passed).most_common(1) or [(0, 0)]
    passed = [it for it in passed if it.cluster == cluster or 2 * alike <= len(passed)]
    return tuple({it.draft: it for it in reversed(passed)}.values())[::-1]


def candidate_ranked_best_alone(tried: CandidatesTried, among: Sequence[Candidate]) -> Candidate | None:
    """Return the only candidate with the best test results; None if several are equally good."""
    best = [it for it in among if it.passed and it.seat in tried.best]
    return best[0] if len(best) == 1 else None


def render_candidate_for_judge(
    it: Candidate, tried: CandidatesTried, operations: Sequence[Operation], labels: Mapping[str, str]
) -> str:
    """Return a candidate with its blind label and the results of running it."""
    shown = "\n".join(filter(None, (describe_candidate_to_author(it), _differing(it, tried))))
    for seat, label in labels.items():
        shown = re.sub(rf"(?<![\w-]){re.escape(seat)}: ", f"candidate-{label}: ", shown)
    return f"candidate-{labels[it.seat]}:\nRunning it: {shown}\n{render_unsigned_candidate(operations)}"


def _differing(it: Candidate, tried: CandidatesTried) -> str:
    said = describe_candidate_behaviour(tried, it.seat)
    return f"It differs from the others: {said}." if said else ""


def describe_stage_files(took: Sequence[Contribution], ruling: str) -> str:
    """Return the result of a files stage for later stages: the files and how they were chosen."""
    paths = sorted({join_text_lines(it.path) for it in took})
    return "\n".join(filter(None, (f"Files written: {', '.join(paths)}.", ruling)))


def describe_stage_ruling(directives: Directives, candidates: Sequence[str]) -> str:
    """Return a ruling for later stages, without labels and names of seats."""
    names = {it: "the base" if it == directives.base else "another candidate" for it in candidates}
    wanted = [replace_labels_in_judge_directive(it, names) for it in (*directives.incorporate, *directives.must_fix)]
    if not wanted:
        return "The judge took one candidate as it is."
    return "\n".join(("The judge chose one candidate as the base and also asked for:", *(f"- {it}" for it in wanted)))


def describe_left_out_candidates(tried: CandidatesTried, among: Sequence[Candidate]) -> Iterator[str]:
    """Yield a sentence for each candidate that could not be chosen, with the reason."""
    drafts = {it.draft for it in among}
    for it in tried.candidates:
        if it.draft not in drafts:
            why = (
                summarize_candidate_failure(it)
                or "It behaves differently from most candidates for inputs similar to those of the task."
            )
            yield f"{it.seat}'s candidate was left out. {why}"


def describe_candidate_doubts(it: Candidate) -> tuple[str, ...]:
    """Return the warnings on a chosen candidate that did not pass or lost its tests."""
    said = () if it.passed else (f"{it.seat}'s candidate did not pass its checks. {summarize_candidate_failure(it)}",)
    said += _gone_without(it)
    paths = join_names([join_text_lines(path) for path in it.without])
    return (*said, *((f"{paths} of {it.seat} was left out, since the code does not pass it.",) if paths else ()))


def _gone_without(it: Candidate) -> tuple[str, ...]:
    """Return which files of a candidate a new project leaves out, with the reasons."""
    why = [end_sentence(join_text_lines(one.sentence)) for one in it.dropped[:_NAMED]]
    why += [f"So it is with {len(it.dropped) - _NAMED} more."] if len(it.dropped) > _NAMED else []
    return (f"Not all that {it.seat} wrote is in it. {' '.join(why)}",) if why else ()


def describe_candidate_run(it: Candidate, tried: CandidatesTried) -> str:
    """Return the files and test results of a candidate for the person."""
    passed = "passed what was run." if it.checks or it.tests else "there was nothing to run it against."
    how = passed if it.passed else summarize_candidate_failure(it)
    return f"{join_names([join_text_lines(path) for path in it.files])}: {how} {_differing(it, tried)}".strip()


def stage_files_question(title: str, options: Sequence[str], heard: str) -> str:
    """Return the question whose files to take; `heard` describes the verdict of the judge."""
    still = f": {'; '.join(join_text_lines(it) for it in options)}" if options else ""
    verdict = end_sentence(f"{heard}{still}")
    return f"{title}: there is no agreement on whose files to take. {verdict} Whose files do you choose?"


def describe_unfulfilled_directives(base: str, undone: Sequence[str], broke: str) -> Iterator[str]:
    """Yield a sentence for each directive of the judge that was not applied; `broke` is the merge's failure."""
    if broke:
        why = join_text_lines(broke)[:_TOLD]
        yield f"The judge's further requests were discarded, so {base}'s candidate is used alone. {why}"
    yield from (f"The judge asked for this, but it was not done: {join_text_lines(it)}" for it in undone)
