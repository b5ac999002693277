"""Ways to choose one of a hundred samples. Each leaves those it holds for equally good; a choice is one of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from bench.coding.running import Costs, Sample, Seen
from roundtable.core.decide.candidate_ranking import CandidateRun, decide_candidate_ranking

Samples = Sequence[Sample]
Method = Callable[[Samples, bool], Samples]


def chance(samples: Samples, examples: bool) -> Samples:
    """Any, or any of those that pass most examples."""
    most = max(sum(sample.examples) for sample in samples) if examples else 0
    return [sample for sample in samples if sum(sample.examples) == most] if examples else samples


def textual_vote(samples: Samples, examples: bool) -> Samples:
    """The most common text, layout and comments apart."""
    return most_common(chance(samples, examples))


def most_common(samples: Samples) -> Samples:
    """Those whose text most of them have."""
    count = Counter(sample.text for sample in samples if sample.text)
    most = max(count.values(), default=0)
    return [sample for sample in samples if sample.text and count[sample.text] == most] if count else samples


def dual_agreement(samples: Samples, examples: bool) -> Samples:
    """Dual execution agreement: samples that pass the same tests weigh their number times the number of those tests.

    Examples come first, as checks.
    """
    groups: dict[tuple[bool, ...], list[Sample]] = defaultdict(list)
    for sample in chance(samples, examples):
        groups[sample.tests].append(sample)
    most = max(len(group) * sum(tests) for tests, group in groups.items())
    return [sample for tests, group in groups.items() if len(group) * sum(tests) == most for sample in group]


def dual_agreement_mixed(samples: Samples, examples: bool) -> Samples:
    """The same with the examples as tests among the others."""
    groups: dict[tuple[bool, ...], list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[sample.tests + sample.examples if examples else sample.tests].append(sample)
    most = max(len(group) * sum(tests) for tests, group in groups.items())
    return [sample for tests, group in groups.items() if len(group) * sum(tests) == most for sample in group]


def executed_judgement(samples: Samples, examples: bool) -> Samples:
    """Ours, as the `build` meeting has it: the examples are the repository's checks, the tests are nobody's own."""
    verdicts = [
        CandidateRun(
            str(number),
            {str(check): passed for check, passed in enumerate(sample.examples)} if examples else {},
            {str(test): passed for test, passed in enumerate(sample.tests)},
            sample.inputs | sample.example_inputs if examples else sample.inputs,
        )
        for number, sample in enumerate(samples)
    ]
    return [samples[int(name)] for name in decide_candidate_ranking(verdicts).best]


def executed_then_vote(samples: Samples, examples: bool) -> Samples:
    """Ours, with a vote among those that running them leaves even; `build` asks judges instead, if there are any."""
    return most_common(executed_judgement(samples, examples))


METHODS: dict[str, Method] = {
    "random": chance,
    "textual vote": textual_vote,
    "dual execution agreement": dual_agreement,
    "the same, examples among its tests": dual_agreement_mixed,
    "executed judgement": executed_judgement,
    "executed judgement, then textual vote": executed_then_vote,
}


def cost(name: str, costs: Costs, examples: bool) -> float:
    """Processor seconds of the running that a method rests on."""
    tests = costs.tests if name not in ("random", "textual vote") else 0.0
    inputs = costs.inputs if name.startswith("executed") else 0.0
    return tests + inputs + (costs.examples if examples else 0.0)


def expected(even: Samples) -> float:
    """How likely one of these, drawn at random, is right."""
    return sum(sample.right for sample in even) / len(even)


def chosen(even: Samples) -> bool:
    """Whether the one that `build` would take without a judge is right: the first of them."""
    return even[0].right


def halves(all: Sequence[Seen]) -> dict[str, list[Seen]]:
    """The half the method was made on, the half it is held to, and both."""
    even_candidates = [candidate for candidate in all if candidate.number % 2 == 0]
    odd_candidates = [candidate for candidate in all if candidate.number % 2]
    return {"even": even_candidates, "odd": odd_candidates, "all": list(all)}
