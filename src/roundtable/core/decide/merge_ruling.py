"""The ruling of judges on equally good candidates: the preferred one, and the parts of others to merge into it.

Judges read the candidates in both orders; a preference that changes with the order does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from roundtable.core.candidate_reasons import CandidateProblems, CandidatesMerged, JudgesCompared
from roundtable.core.decide.trial_outcome import decide_candidate_problems
from roundtable.core.effects import Candidate, DraftsSynthesised
from roundtable.core.verdict import Directives

_Meaning = tuple[frozenset[str], tuple[str, ...]]
_WORD = re.compile(r"[\w$./:#-]+")
_EXPLANATION = re.compile(r"\b(?:because|since|which|so that|as it)\b(?:\([^()]*\)|[^,;)])*|['’]s\b|\(\)")
_FILLING = {
    "", "replace", "swap", "take", "use", "add", "adopt", "incorporate", "by", "with", "from", "in", "of", "the", "a",
    "an", "and", "its", "one", "version", "implementation", "function", "method", "class", "helper", "please", "also",
}  # fmt: skip


class JudgeDirectives(msgspec.Struct, frozen=True):
    """The directives of judges: parts to incorporate, faults to fix, and those given in only one order (`once`)."""

    incorporate: tuple[str, ...] = ()
    must_fix: tuple[str, ...] = ()
    once: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """All directives in the order in which they are carried out."""
        return (*self.incorporate, *self.must_fix)


class SwappedOrderVerdicts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The candidate that each judge prefers in both orders, and the judges whose verdict does not count."""

    preferred: dict[str, str] = {}
    void: tuple[str, ...] = ()

    def tally(self) -> dict[str, int]:
        """The number of counted verdicts for each candidate, the most first."""
        chosen = list(self.preferred.values())
        ranked = sorted(set(chosen), key=lambda candidate: (-chosen.count(candidate), candidate))
        return {candidate: chosen.count(candidate) for candidate in ranked}


def decide_swapped_order_verdicts(
    ab: Mapping[str, str], ba: Mapping[str, str], candidates: Collection[str]
) -> SwappedOrderVerdicts:
    """Compare the candidate that each judge preferred in the order (A, B) with its preference in the order (B, A).

    Both mappings give the name of a candidate for each judge. A judge that changed its preference with the order, or
    stated it in only one order, is void.
    """
    judges = dict.fromkeys((*ab, *ba))
    preferred = {judge: ab[judge] for judge in judges if ab.get(judge) == ba.get(judge) and ab.get(judge) in candidates}
    return SwappedOrderVerdicts(preferred, tuple(judge for judge in judges if judge not in preferred))


def rule_judge_directives(
    rulings: Sequence[Mapping[str, Directives]], verdicts: SwappedOrderVerdicts, base: str, seats: Collection[str]
) -> JudgeDirectives:
    """The directives of the judges that prefer the base in both orders.

    A directive that a judge gave in only one order is not carried out, because the order may have caused it.
    """
    in_both_orders: dict[_Directive, None] = {}
    in_one_order: dict[str, None] = {}
    for judge in (judge for judge, preferred in verdicts.preferred.items() if preferred == base):
        first, second = (_directives_by_meaning(ruling[judge], seats) for ruling in rulings)
        in_both_orders |= {directive: None for meaning, directive in first.items() if meaning in second}
        only_once = first.keys() ^ second.keys()
        in_one_order |= {
            directive.text: None for meaning, directive in (first | second).items() if meaning in only_once
        }
    incorporate, must_fix = (
        tuple(directive.text for directive in in_both_orders if directive.must_fix is fixes) for fixes in (False, True)
    )
    return JudgeDirectives(incorporate, must_fix, tuple(in_one_order))


class _Directive(msgspec.Struct, frozen=True):
    """A directive of a judge, and whether it asks for a fix rather than for a part of another candidate."""

    text: str
    must_fix: bool


def _directives_by_meaning(ruling: Directives, seats: Collection[str]) -> dict[_Meaning, _Directive]:
    """The directives by their meaning; a directive listed under both headings counts as one to incorporate."""
    incorporated = {_meaning(text, seats): _Directive(text, must_fix=False) for text in ruling.incorporate}
    return (
        incorporated
        | {_meaning(text, seats): _Directive(text, must_fix=True) for text in ruling.must_fix}
        | incorporated
    )


def _meaning(directive: str, seats: Collection[str]) -> _Meaning:
    """A key that is equal for directives with the same meaning: the content words, and the seats in their order.

    The order of the words has no effect; the order of the seats says which seat's part replaces which.
    """
    words = [word.strip(".:-") for word in _WORD.findall(_EXPLANATION.sub("", directive.lower()))]
    lower_seats = {seat.lower() for seat in seats}
    return frozenset(words) - _FILLING, tuple(word for word in words if word in lower_seats)


def decide_reason_for_judge_verdicts(
    rulings: Sequence[Mapping[str, Directives]], verdicts: SwappedOrderVerdicts, base: str, discarded: tuple[str, ...]
) -> JudgesCompared:
    """The result of the judges: votes for each candidate, void judges, and judges that preferred their own."""
    one_order = tuple(judge for judge in verdicts.void if not all(judge in ruling for ruling in rulings))
    return JudgesCompared(
        base,
        verdicts.tally(),
        tuple(judge for judge in verdicts.void if judge not in one_order),
        one_order,
        tuple(judge for judge, preferred in verdicts.preferred.items() if preferred == judge),
        discarded,
    )


def decide_merge_regressions(merged: Candidate, base: Candidate) -> CandidateProblems:
    """The problems of a merged candidate that its base does not have: failed checks, or else tests that now fail."""
    failed = {(check.name, check.original_tests) for check in base.checks if not check.passed}
    regressions = tuple(check for check in merged.checks if (check.name, check.original_tests) not in failed)
    problems = decide_candidate_problems(msgspec.structs.replace(merged, checks=regressions))
    lost = tuple(test for test, passed in base.tests.items() if passed and not merged.tests.get(test, False))
    return problems or CandidateProblems(lost_tests=lost)


def decide_reason_for_merged_parts(synthesis: DraftsSynthesised, base: str) -> CandidatesMerged:
    """The parts that were merged into the base, each with its seat, and the symbols that were removed."""
    taken = tuple((part.symbol or part.path, part.seat) for part in synthesis.took)
    return CandidatesMerged(base, taken, tuple(removed.symbol for removed in synthesis.removed))
