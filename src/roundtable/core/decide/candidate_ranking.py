"""Ranks candidates by the results of running them; judges decide only among equal ones.

Three kinds of evidence, in this order:

- The repository's own checks. A candidate that breaks a passing check ranks below all that do not.
- The tests that the seats wrote. A test is evidence only if its author's candidate and another one pass it: a test that
  only its author passes is uncorroborated, and a test that its author's own code fails is wrong. A candidate is ranked
  only by the tests of others, and every author has equal weight, so neither many tests nor easy ones help the author.
- The outputs for telling inputs. Candidates with equal outputs are a cluster. Independent work that behaves alike is
  probably right: the weight of a cluster is its size times the share of tests it passes. Of clusters with equal weight,
  the one whose outputs agree more often with the others ranks higher.

An uncorroborated test does not rank candidates, but it separates those it distinguishes, unless two others agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from roundtable.core.text.wording import join_names, pluralize
from roundtable.core.values import Value

ERROR_SIGN = "!"
"""How an output begins that is no value but the kind of error that came instead."""
_OPAQUE = "= <"
"""How an output begins that shows nothing but of what class something is."""


class CandidateRun(Value, frozen=True):
    """The results of one candidate: passed checks and tests, and its output for each telling input."""

    candidate: str
    checks: dict[str, bool] = {}
    tests: dict[str, bool] = {}
    outputs: dict[str, str] = {}


class CandidateRanking(Value, frozen=True):
    """The clusters of candidates with equal behaviour, best first, and a sentence on the evidence.

    `best` are the candidates that the results leave equal: the first cluster, and any that is as good. `compared` is
    false if nothing was run. `ways` are the clusters, split by uncorroborated tests; `telling` are the tests that can
    distinguish them.
    """

    clusters: tuple[tuple[str, ...], ...] = ()
    best: tuple[str, ...] = ()
    how: str = ""
    compared: bool = False
    ways: tuple[tuple[str, ...], ...] = ()
    telling: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """All candidates, best first; equal ones in the given order."""
        return tuple(it for cluster in self.clusters for it in cluster)

    @property
    def alone(self) -> str:
        """The only best candidate if no other behaves like it; empty otherwise."""
        return self.best[0] if len(self.best) == 1 and self.best in self.clusters else ""


def rank_candidates(
    ran: Sequence[CandidateRun],
    before: Mapping[str, bool] | None = None,
    authors: Mapping[str, str] | None = None,
    sound: Collection[str] | None = None,
) -> CandidateRanking:
    """Rank candidates. `before` are the checks without any change, `authors` maps tests to their authors' candidates.

    A test whose author has no candidate counts for every candidate. `sound` are those that may be chosen, if not all
    may; the others still count as evidence and come last.
    """
    if not ran:
        return CandidateRanking(how="No candidate could be run.")
    evidence, words = _evidence(ran, authors or {}), _words_for_oneself(ran, authors or {})
    supports = _supports(ran, evidence)
    standing = {it.candidate: _standing(it, before or {}) for it in ran}
    company = {
        it: Counter(said for one in ran if standing[one.candidate] == it for said in one.outputs.items())
        for it in set(standing.values())
    }
    chosen = {it.candidate for it in ran} if not sound else set(sound)
    ranked: list[tuple[tuple[float, ...], tuple[str, ...]]] = []
    for cluster in _alike(ran, evidence):
        one, stands = cluster[0], standing[cluster[0].candidate]
        support = sum(supports[it.candidate] for it in cluster)
        names = tuple(it.candidate for it in cluster)
        rank = (not chosen.isdisjoint(names), *stands, round(support, 9), _company(one, company[stands]))
        ranked.append((rank, names))
    ranked.sort(key=lambda it: it[0], reverse=True)
    best = tuple(name for rank, names in ranked if rank == ranked[0][0] for name in names if name in chosen)
    kept = sum(it[0] == 0 for it in standing.values())
    clusters = tuple(names for _, names in ranked)
    ways = tuple(way for names in clusters for way in _ways(names, words, chosen))
    heard = [tests for author, tests in words.items() if (author,) in ways]
    telling = tuple(test for tests in (*evidence.values(), *heard) for test in tests)
    compared = bool(evidence) or len(ways) > 1 or any(it.checks or it.outputs for it in ran)
    how = _how(ran, kept, evidence, telling, ways, best) if compared else _uncompared(ran)
    return CandidateRanking(clusters, best, how, compared, ways, telling)


def _standing(one: CandidateRun, before: Mapping[str, bool]) -> tuple[int, int]:
    """Return a candidate's rank by the repository's checks, higher is better: regressions first, then failures."""
    failed = [name for name, passed in one.checks.items() if not passed]
    return -sum(before.get(name, True) for name in failed), -len(failed)


def _evidence(ran: Sequence[CandidateRun], authors: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the tests that count, by author: passed by the author's candidate and by another one."""
    present = {it.candidate for it in ran}
    found: dict[str, list[str]] = {}
    for test, candidates in _passing(ran).items():
        author = authors.get(test, "")
        if author not in present or (author in candidates and len(candidates) > 1):
            found.setdefault(author, []).append(test)
    return found


def _words_for_oneself(ran: Sequence[CandidateRun], authors: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the uncorroborated tests by author: those that only the author's candidate passes."""
    found: dict[str, list[str]] = {}
    for test, candidates in _passing(ran).items():
        if candidates == [authors.get(test)]:
            found.setdefault(candidates[0], []).append(test)
    return found


def _passing(ran: Sequence[CandidateRun]) -> dict[str, list[str]]:
    """Return the candidates that pass each test."""
    found: dict[str, list[str]] = {}
    for it in ran:
        for test, passed in it.tests.items():
            if passed:
                found.setdefault(test, []).append(it.candidate)
    return found


def _alike(ran: Sequence[CandidateRun], evidence: Mapping[str, Sequence[str]]) -> list[list[CandidateRun]]:
    """Group candidates with equal results, in the given order."""
    counted = [test for tests in evidence.values() for test in tests]
    found: dict[object, list[CandidateRun]] = {}
    for it in ran:
        passed = tuple(it.tests.get(test, False) for test in counted)
        found.setdefault((frozenset(it.checks.items()), passed, frozenset(it.outputs.items())), []).append(it)
    return list(found.values())


def _ways(cluster: tuple[str, ...], words: Collection[str], chosen: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Split a cluster by uncorroborated tests: a candidate with such a test is alone.

    If two eligible candidates without such a test agree, the tests are probably wrong and nothing is split.
    """
    others = tuple(it for it in cluster if it not in words)
    if sum(it in chosen for it in others) > 1:
        yield cluster
        return
    yield from ((it,) for it in cluster if it in words)
    if others:
        yield others


def _supports(ran: Sequence[CandidateRun], evidence: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the share of other authors' tests that each candidate passes; every author has equal weight.

    A candidate to which no tests apply gets the average of those with equal results on all tests, or else of all
    others, so that its own tests neither raise nor lower its rank.
    """
    heard: dict[str, float] = {}
    for one in ran:
        shares = [
            sum(one.tests.get(test, False) for test in tests) / len(tests)
            for author, tests in evidence.items()
            if author != one.candidate
        ]
        if shares:
            heard[one.candidate] = sum(shares) / len(shares)
    counted = [test for tests in evidence.values() for test in tests]
    passed = {it.candidate: [it.tests.get(test, False) for test in counted] for it in ran}
    found = dict(heard)
    for name in passed.keys() - heard.keys():
        even = [it for it in heard if passed[it] == passed[name]] or list(heard)
        found[name] = sum(heard[it] for it in even) / len(even) if even else 1.0
    return found


def _company(one: CandidateRun, said: Mapping[tuple[str, str], int]) -> int:
    """Return how often a candidate's outputs equal those of its equals; an error does not count."""
    return sum(said[it] for it in one.outputs.items() if not it[1].startswith(ERROR_SIGN))


def _uncompared(ran: Sequence[CandidateRun]) -> str:
    return "" if len(ran) == 1 else f"Nothing was run that could tell the {len(ran)} candidates apart."


def _how(
    ran: Sequence[CandidateRun],
    kept: int,
    evidence: Mapping[str, Sequence[str]],
    telling: Collection[str],
    ways: Sequence[Sequence[str]],
    best: Sequence[str],
) -> str:
    """Return the sentence on what the order is based on."""
    if len(ran) == 1:
        return ""
    inputs = {key for it in ran for key, value in it.outputs.items() if not value.startswith(_OPAQUE)}
    by = (
        f"Tried with {pluralize(len(inputs), 'input')}" if inputs else f"By the checks{' and tests' if telling else ''}"
    )
    behave = "behave alike" if inputs else "are even, and no inputs could be tried on them"
    said = [f"{by}, the {len(ran)} candidates {behave if len(ways) == 1 else f'behave in {len(ways)} ways'}."]
    if kept < len(ran):
        said.append(f"{len(ran) - kept} of them broke a check that passed before.")
    tests = {test for it in ran for test in it.tests}
    if counted := sum(map(len, evidence.values())):
        written = pluralize(len(tests), "test")
        said.append(f"Counted: {counted} of {written} they wrote, passed by somebody else's code too.")
    return " ".join((*said, _between(best, ways)))


def _between(best: Sequence[str], ways: Sequence[Sequence[str]]) -> str:
    """Return what the results decided among the best candidates."""
    if len(best) == 1:
        return f"{best[0]} did best."
    if any(set(best) <= set(alike) for alike in ways):
        return f"Running them does not tell {join_names(best)} apart."
    return f"Nothing that was run says which of {join_names(best)} is right."
