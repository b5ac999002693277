"""Ranks candidates by the results of running them; judges decide only between equally good candidates.

Three kinds of evidence, in this order:

- The repository's own checks. A candidate that breaks a passing check ranks below all that do not.
- The tests that the seats wrote. A test is evidence only if its author's candidate and another one pass it: a test that
  only its author passes is uncorroborated, and a test that its author's own code fails is wrong. A candidate is ranked
  only by the tests of others, and every author has equal weight, so neither many tests nor easy ones help the author.
- The outputs for distinguishing inputs. Candidates with equal outputs are a cluster. Independent work that behaves
  alike is probably right: the weight of a cluster is its size times the share of tests it passes. Of clusters with
  equal weight, the one whose outputs agree more often with the others ranks higher.

An uncorroborated test does not rank candidates, but it separates those it distinguishes, unless two others agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from roundtable.core.candidate_reasons import (
    BestCandidates,
    CallOutcome,
    CandidatesBrokeChecks,
    CandidatesCompared,
    CandidatesNotCompared,
    NoCandidateRun,
    RankingReason,
    TestsCounted,
)
from roundtable.core.values import Value

_OPAQUE_VALUE = "<"
"""The first character of a representation that shows only the class of a value, such as `<Shop object>`."""


class CandidateRun(Value, frozen=True):
    """The results of one candidate: passed checks and tests, and its outcome for each distinguishing input."""

    candidate: str
    checks: dict[str, bool] = {}
    tests: dict[str, bool] = {}
    outputs: dict[str, CallOutcome] = {}


class CandidateRanking(Value, frozen=True):
    """The clusters of candidates with equal behaviour, best first, and what the order is based on.

    `best` are the candidates that the results leave equal: the first cluster, and any that is as good. `compared` is
    false if nothing was run. `ways` are the clusters, split by uncorroborated tests; `telling` are the tests that can
    distinguish them.
    """

    clusters: tuple[tuple[str, ...], ...] = ()
    best: tuple[str, ...] = ()
    how: tuple[RankingReason, ...] = ()
    compared: bool = False
    ways: tuple[tuple[str, ...], ...] = ()
    telling: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """All candidates, best first; equal ones in the given order."""
        return tuple(candidate for cluster in self.clusters for candidate in cluster)

    @property
    def alone(self) -> str:
        """The only best candidate if no other behaves like it; empty otherwise."""
        return self.best[0] if len(self.best) == 1 and self.best in self.clusters else ""


def decide_candidate_ranking(
    runs: Sequence[CandidateRun],
    before: Mapping[str, bool] | None = None,
    authors: Mapping[str, str] | None = None,
    eligible: Collection[str] | None = None,
) -> CandidateRanking:
    """Rank candidates by their results, best first.

    `before` are the results of the checks without any change. `authors` maps each test to the candidate of its author.

    A test whose author has no candidate counts for every candidate. `eligible` are those that may be chosen, if not all
    may; the others still count as evidence and come last.
    """
    if not runs:
        return CandidateRanking(how=(NoCandidateRun(),))
    evidence, own_evidence = _corroborated_tests(runs, authors or {}), _uncorroborated_tests(runs, authors or {})
    support = _support_by_candidate(runs, evidence)
    check_ranks = {run.candidate: _check_rank(run, before or {}) for run in runs}
    shared_outputs = {
        rank: Counter(output for run in runs if check_ranks[run.candidate] == rank for output in run.outputs.items())
        for rank in set(check_ranks.values())
    }
    choosable = {run.candidate for run in runs} if not eligible else set(eligible)
    ranked: list[tuple[tuple[float, ...], tuple[str, ...]]] = []
    for cluster in _group_alike(runs, evidence):
        check_rank = check_ranks[cluster[0].candidate]
        weight = round(sum(support[run.candidate] for run in cluster), 9)
        names = tuple(run.candidate for run in cluster)
        shared = _count_shared_outputs(cluster[0], shared_outputs[check_rank])
        ranked.append(((not choosable.isdisjoint(names), *check_rank, weight, shared), names))
    ranked.sort(key=lambda ranked_cluster: ranked_cluster[0], reverse=True)
    best = tuple(name for rank, names in ranked if rank == ranked[0][0] for name in names if name in choosable)
    clusters = tuple(names for _, names in ranked)
    ways = tuple(way for names in clusters for way in _split_cluster(names, own_evidence, choosable))
    separating = [tests for author, tests in own_evidence.items() if (author,) in ways]
    telling = tuple(test for tests in (*evidence.values(), *separating) for test in tests)
    compared = bool(evidence) or len(ways) > 1 or any(run.checks or run.outputs for run in runs)
    broken = sum(rank[0] != 0 for rank in check_ranks.values())
    how = _comparison_reasons(runs, broken, evidence, telling, ways, best) if compared else _not_compared_reason(runs)
    return CandidateRanking(clusters, best, tuple(how), compared, ways, telling)


def _check_rank(run: CandidateRun, before: Mapping[str, bool]) -> tuple[int, int]:
    """Return a candidate's rank by the repository's checks, higher is better: regressions first, then failures."""
    failed = [name for name, passed in run.checks.items() if not passed]
    return -sum(before.get(name, True) for name in failed), -len(failed)


def _corroborated_tests(runs: Sequence[CandidateRun], authors: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the tests that count as evidence, by author: the author's candidate and another one pass them."""
    present = {run.candidate for run in runs}
    tests: dict[str, list[str]] = {}
    for test, candidates in _candidates_by_passed_test(runs).items():
        author = authors.get(test, "")
        if author not in present or (author in candidates and len(candidates) > 1):
            tests.setdefault(author, []).append(test)
    return tests


def _uncorroborated_tests(runs: Sequence[CandidateRun], authors: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the uncorroborated tests by author: those that only the author's candidate passes."""
    tests: dict[str, list[str]] = {}
    for test, candidates in _candidates_by_passed_test(runs).items():
        if candidates == [authors.get(test)]:
            tests.setdefault(candidates[0], []).append(test)
    return tests


def _candidates_by_passed_test(runs: Sequence[CandidateRun]) -> dict[str, list[str]]:
    """Return the candidates that pass each test."""
    candidates: dict[str, list[str]] = {}
    for run in runs:
        for test, passed in run.tests.items():
            if passed:
                candidates.setdefault(test, []).append(run.candidate)
    return candidates


def _group_alike(runs: Sequence[CandidateRun], evidence: Mapping[str, Sequence[str]]) -> list[list[CandidateRun]]:
    """Group candidates with equal results, in the given order."""
    counted = [test for tests in evidence.values() for test in tests]
    groups: dict[object, list[CandidateRun]] = {}
    for run in runs:
        passed = tuple(run.tests.get(test, False) for test in counted)
        groups.setdefault((frozenset(run.checks.items()), passed, frozenset(run.outputs.items())), []).append(run)
    return list(groups.values())


def _split_cluster(
    cluster: tuple[str, ...], own_evidence: Collection[str], choosable: Collection[str]
) -> Iterator[tuple[str, ...]]:
    """Split a cluster by uncorroborated tests: a candidate with such a test is alone.

    If two eligible candidates without such a test agree, the tests are probably wrong and nothing is split.
    """
    others = tuple(candidate for candidate in cluster if candidate not in own_evidence)
    if sum(candidate in choosable for candidate in others) > 1:
        yield cluster
        return
    yield from ((candidate,) for candidate in cluster if candidate in own_evidence)
    if others:
        yield others


def _support_by_candidate(runs: Sequence[CandidateRun], evidence: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the share of other authors' tests that each candidate passes; every author has equal weight.

    A candidate to which no tests apply gets the average of those with equal results on all tests, or else of all
    others, so that its own tests neither raise nor lower its rank.
    """
    tested: dict[str, float] = {}
    for run in runs:
        shares = [
            sum(run.tests.get(test, False) for test in tests) / len(tests)
            for author, tests in evidence.items()
            if author != run.candidate
        ]
        if shares:
            tested[run.candidate] = sum(shares) / len(shares)
    counted = [test for tests in evidence.values() for test in tests]
    passed = {run.candidate: [run.tests.get(test, False) for test in counted] for run in runs}
    support = dict(tested)
    for name in passed.keys() - tested.keys():
        equals = [other for other in tested if passed[other] == passed[name]] or list(tested)
        support[name] = sum(tested[other] for other in equals) / len(equals) if equals else 1.0
    return support


def _count_shared_outputs(run: CandidateRun, counts: Mapping[tuple[str, CallOutcome], int]) -> int:
    """Return how often the outputs of a candidate occur among candidates of the same check rank; without errors."""
    return sum(counts[output] for output in run.outputs.items() if not output[1].is_error)


def _not_compared_reason(runs: Sequence[CandidateRun]) -> tuple[CandidatesNotCompared, ...]:
    return () if len(runs) == 1 else (CandidatesNotCompared(len(runs)),)


def _comparison_reasons(
    runs: Sequence[CandidateRun],
    broken: int,
    evidence: Mapping[str, Sequence[str]],
    telling: Collection[str],
    ways: Sequence[Sequence[str]],
    best: tuple[str, ...],
) -> Iterator[RankingReason]:
    """Yield the reasons of the order; none for a single candidate."""
    if len(runs) == 1:
        return
    inputs = {key for run in runs for key, outcome in run.outputs.items() if _shows_behaviour(outcome)}
    yield CandidatesCompared(len(runs), len(ways), len(inputs), by_tests=bool(telling))
    if broken:
        yield CandidatesBrokeChecks(broken)
    if counted := sum(map(len, evidence.values())):
        yield TestsCounted(counted, len({test for run in runs for test in run.tests}))
    yield BestCandidates(best, alike=any(set(best) <= set(cluster) for cluster in ways))


def _shows_behaviour(outcome: CallOutcome) -> bool:
    return not (outcome.is_value and outcome.text.startswith(_OPAQUE_VALUE))
