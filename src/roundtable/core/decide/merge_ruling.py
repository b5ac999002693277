"""Which of equal candidates the judges prefer, and which parts of the others they want merged into it.

Judges read the candidates in both orders; a preference that changes with the order does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from roundtable.core.candidate_reasons import CandidateProblems, CandidatesMerged, JudgesCompared
from roundtable.core.decide.trial_outcome import candidate_problems
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
    """The parts that judges want incorporated or fixed, and directives that they gave in only one order of reading."""

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


def compare_swapped_order_verdicts(
    ab: Mapping[str, str], ba: Mapping[str, str], candidates: Collection[str]
) -> SwappedOrderVerdicts:
    """Compare what each judge preferred when it read (A, B) with what it preferred when it read (B, A).

    The values are candidates by name. A judge that changes its verdict with the order, or gave only one, is void.
    """
    judges = dict.fromkeys((*ab, *ba))
    preferred = {judge: ab[judge] for judge in judges if ab.get(judge) == ba.get(judge) and ab.get(judge) in candidates}
    return SwappedOrderVerdicts(preferred, tuple(judge for judge in judges if judge not in preferred))


def rule_judge_directives(
    rulings: Sequence[Mapping[str, Directives]], verdicts: SwappedOrderVerdicts, base: str, seats: Collection[str]
) -> JudgeDirectives:
    """The directives of the judges whose verdict counts and is for the base.

    A directive that a judge gave in only one order is not carried out: the order may have caused it.
    """
    both: dict[_Directive, None] = {}
    once: dict[str, None] = {}
    for judge in (judge for judge, preferred in verdicts.preferred.items() if preferred == base):
        first, second = (_directives_by_meaning(ruling[judge], seats) for ruling in rulings)
        both |= {directive: None for meaning, directive in first.items() if meaning in second}
        one_order = first.keys() ^ second.keys()
        once |= {directive.text: None for meaning, directive in (first | second).items() if meaning in one_order}
    incorporate, must_fix = (
        tuple(directive.text for directive in both if directive.must_fix is fixes) for fixes in (False, True)
    )
    return JudgeDirectives(incorporate, must_fix, tuple(once))


class _Directive(msgspec.Struct, frozen=True):
    """A directive of a judge, and whether it only says what must be fixed."""

    text: str
    must_fix: bool


def _directives_by_meaning(ruling: Directives, seats: Collection[str]) -> dict[_Meaning, _Directive]:
    """The directives by their meaning; one that is both to be incorporated and fixed is incorporated."""
    incorporated = {_meaning(text, seats): _Directive(text, must_fix=False) for text in ruling.incorporate}
    return (
        incorporated
        | {_meaning(text, seats): _Directive(text, must_fix=True) for text in ruling.must_fix}
        | incorporated
    )


def _meaning(directive: str, seats: Collection[str]) -> _Meaning:
    """The content words in any order, and the seats in their order: it decides which seat replaces which."""
    words = [word.strip(".:-") for word in _WORD.findall(_EXPLANATION.sub("", directive.lower()))]
    lower_seats = {seat.lower() for seat in seats}
    return frozenset(words) - _FILLING, tuple(word for word in words if word in lower_seats)


def judge_verdicts_reason(
    rulings: Sequence[Mapping[str, Directives]], verdicts: SwappedOrderVerdicts, base: str, discarded: tuple[str, ...]
) -> JudgesCompared:
    """How the judges ruled: whom they prefer, whose verdict does not count and why, and who preferred itself."""
    one_order = tuple(judge for judge in verdicts.void if not all(judge in ruling for ruling in rulings))
    return JudgesCompared(
        base,
        verdicts.tally(),
        tuple(judge for judge in verdicts.void if judge not in one_order),
        one_order,
        tuple(judge for judge, preferred in verdicts.preferred.items() if preferred == judge),
        discarded,
    )


def merge_regression_problems(merged: Candidate, base: Candidate) -> CandidateProblems:
    """The problems of a merged candidate that its base does not have."""
    failed = {(check.name, check.original_tests) for check in base.checks if not check.passed}
    broken = tuple(check for check in merged.checks if (check.name, check.original_tests) not in failed)
    problems = candidate_problems(msgspec.structs.replace(merged, checks=broken))
    lost = tuple(test for test, passed in base.tests.items() if passed and not merged.tests.get(test, False))
    return problems or CandidateProblems(lost_tests=lost)


def merged_parts_reason(synthesis: DraftsSynthesised, base: str) -> CandidatesMerged:
    """Which parts came from which seat, and what was removed."""
    taken = tuple((part.symbol or part.path, part.seat) for part in synthesis.took)
    return CandidatesMerged(base, taken, tuple(removed.symbol for removed in synthesis.removed))
