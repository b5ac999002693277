"""What becomes of findings once a judge has weighed them: to be mended, to be known, or nothing at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from roundtable.core.decide.findings import ALIKE, Finding, Standing, Weighed
from roundtable.core.decide.similarity import key_similarity
from roundtable.core.text.wording import many, telling_words, unbroken
from roundtable.core.verdict import Findings

MENDED = "Mended."
NOT_MENDED = "Not mended: "
"""What became of a finding; behind the second stands why."""

_NAMED = 5
_NONE = re.compile(
    r"\W*(?:there (?:is|are|was|were) )?(?:none|nothing|no (?:\w+ ){0,2}(?:finding|issue|problem|fault|bug)s?)"
    r"(?: (?:is|are|was|were|critical|found|here|left|to report|to fix))*\W*$",
    re.IGNORECASE,
)
"""That there is nothing of the kind, in as many words."""
_SHORT = 100
_ID = re.compile(r"\bF\d+\b")
_LEADING = re.compile(r"\W*((?:F\d+\W{0,3}(?:and\W+)?)+)")
_GRAVE = ("critical", "high")


class Weight(StrEnum):
    """What a finding weighs, under the words a judge uses."""

    CRITICAL = "CRITICAL"
    WARNING = "WARNINGS"
    CLEAN = "CONFIRMED_CLEAN"


class Ruled(msgspec.Struct, frozen=True):
    """The findings by what they weigh, and what the judge said under each that is about none of them."""

    weights: dict[str, Weight]
    besides: dict[Weight, tuple[str, ...]] = {}

    def weighing(self, weight: Weight, found: Sequence[Weighed]) -> list[Weighed]:
        """Those of one weight."""
        return [it for it in found if self.weights[it.finding.id] is weight]


def by_severity(found: Sequence[Weighed]) -> Ruled:
    """As the seats see it themselves: what is critical or high must be mended, unless a program refuted it."""
    return Ruled({it.finding.id: _own(it) for it in found})


def by_judge(found: Sequence[Weighed], said: Findings) -> Ruled:
    """As the judge sees it; what it does not name weighs what the seats made of it, and no program is overruled.

    A finding under two heads counts under the worse.
    """
    under = {Weight.CRITICAL: said.critical, Weight.WARNING: said.warnings, Weight.CLEAN: said.clean}
    named = {weight: [_named(item, found) for item in items] for weight, items in under.items()}
    weights = {it.finding.id: _weight(it, named) for it in found}
    besides = {
        weight: tuple(item for item, ids in zip(items, named[weight], strict=True) if not ids and not _NONE.match(item))
        for weight, items in under.items()
    }
    return Ruled(weights, besides)


def told(ruled: Ruled, found: Sequence[Weighed], became: Mapping[str, str]) -> str:
    """All of it for who goes on from here: under each head the findings, and what became of them."""
    sections: list[str] = []
    for weight in Weight:
        lines = [*_lines(ruled.weighing(weight, found), became), *ruled.besides.get(weight, ())]
        sections += ["\n".join((f"{weight}:", *(f"- {it}" for it in lines)))] if lines else []
    return "\n\n".join(sections)


def unmended(ruled: Ruled, found: Sequence[Weighed], became: Mapping[str, str]) -> tuple[str, ...]:
    """That critical findings stay as they are, which and why, in one sentence; nothing where all are mended."""
    critical = {it.finding.id: became.get(it.finding.id, "") for it in ruled.weighing(Weight.CRITICAL, found)}
    left = {id: said.removeprefix(NOT_MENDED).rstrip(".") for id, said in critical.items() if _is_left(said)}
    named = [f"{id} ({why})" if why else id for id, why in left.items()]
    named += [unbroken(it)[:_SHORT].rstrip(".") for it in ruled.besides.get(Weight.CRITICAL, ())]
    if not named:
        return ()
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    what = f"{many(len(named), 'critical finding')} {'is' if len(named) == 1 else 'are'} not mended"
    return (f"{what}: {', '.join(named[:_NAMED])}{more}.",)


def _is_left(became: str) -> bool:
    return not became or became.startswith(NOT_MENDED)


def shown(found: Weighed, seats: int) -> str:
    """A finding as it is read out, with how many saw it and what a program showed; by whom is not told."""
    by = f"{len(found.finding.seats)} of {seats} found it."
    proof = {Standing.REPRODUCED: " A program shows it.", Standing.REFUTED: " A program looked and did not find it."}
    return f"{found.finding.id}: {found.finding.words} ({by}{proof.get(found.standing, '')})"


def _lines(found: Sequence[Weighed], became: Mapping[str, str]) -> Iterator[str]:
    for it in found:
        yield f"{it.finding.line} {became.get(it.finding.id, '')}".rstrip()


def _own(found: Weighed) -> Weight:
    if found.standing is Standing.REFUTED:
        return Weight.CLEAN
    return Weight.CRITICAL if found.finding.severity in _GRAVE else Weight.WARNING


def _weight(found: Weighed, named: Mapping[Weight, Sequence[Sequence[str]]]) -> Weight:
    if found.standing is Standing.REFUTED:
        return Weight.CLEAN
    said = next((weight for weight in Weight if any(found.finding.id in ids for ids in named[weight])), None)
    if said is None or (said is Weight.CLEAN and found.standing is Standing.REPRODUCED):
        return _own(found)
    return said


def _named(item: str, found: Sequence[Weighed]) -> tuple[str, ...]:
    """The findings that something a judge said is about: those it begins with, else names, else has the words of."""
    known = {it.finding.id for it in found}
    leading = _LEADING.match(item)
    ids = tuple(it for it in _ID.findall(leading[1] if leading else item) if it in known)
    return ids or tuple(it.finding.id for it in found if _alike(item, it.finding))


def _alike(item: str, finding: Finding) -> bool:
    return key_similarity("-".join(telling_words(item)), "-".join(telling_words(finding.text))) >= ALIKE
