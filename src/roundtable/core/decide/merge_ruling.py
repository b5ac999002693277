"""Which of equal candidates the judges prefer, and what of the others is spliced into it.

Verdicts on two candidates, read in both orders: only a preference that survives the swap stands.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from roundtable.core.changeset import CreateFile, DeleteFile, EditFile, Operation, PutSymbol, RenameFile, ReplaceFile
from roundtable.core.decide.trial_outcome import summarize_candidate_failure
from roundtable.core.effects import Candidate, DraftsSynthesised
from roundtable.core.text.wording import join_names, join_text_lines
from roundtable.core.verdict import Directives

_Meaning = tuple[frozenset[str], tuple[str, ...]]
_WORD = re.compile(r"[\w$./:#-]+")
_ASIDE = re.compile(r"\b(?:because|since|which|so that|as it)\b(?:\([^()]*\)|[^,;)])*|['’]s\b|\(\)")
_FILLING = {
    "", "replace", "swap", "take", "use", "add", "adopt", "incorporate", "by", "with", "from", "in", "of", "the", "a",
    "an", "and", "its", "one", "version", "implementation", "function", "method", "class", "helper", "please", "also",
}  # fmt: skip


def render_unsigned_candidate(operations: Sequence[Operation]) -> str:
    """A candidate as the judges read it: what it writes, and nothing of what its author said about it."""
    return "\n".join(map(_operation, operations))


def _operation(it: Operation) -> str:
    match it:
        case CreateFile() | ReplaceFile():
            return f"{it.path}, whole:\n{it.text}"
        case PutSymbol():
            return f"{it.path}, {it.symbol}:\n{it.text}"
        case EditFile():
            blocks = "\n".join(f"instead of:\n{block.search}\nthis:\n{block.replace}" for block in it.blocks)
            return f"{it.path}:\n{blocks}"
        case DeleteFile():
            return f"{it.path} is deleted."
        case RenameFile():
            return f"{it.path} becomes {it.to}."


class JudgeDirectives(msgspec.Struct, frozen=True):
    """What judges want taken over or fixed, and what they wanted in only one order of reading."""

    incorporate: tuple[str, ...] = ()
    must_fix: tuple[str, ...] = ()
    once: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Everything that is wanted, in the order in which it is carried out."""
        return (*self.incorporate, *self.must_fix)


def rule_judge_directives(
    heard: Sequence[Mapping[str, Directives]], verdicts: SwappedOrderVerdicts, base: str, seats: Collection[str]
) -> JudgeDirectives:
    """What those judges want whose verdict stands and is for the base; what the order may have made is not done."""
    both: dict[_Directive, None] = {}
    once: dict[str, None] = {}
    for judge in (judge for judge, preferred in verdicts.preferred.items() if preferred == base):
        first, second = (_by_meaning(order[judge], seats) for order in heard)
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


def _by_meaning(said: Directives, seats: Collection[str]) -> dict[_Meaning, _Directive]:
    """The directives by what they mean; one that is wanted both ways is taken over."""
    taken = {_meaning(text, seats): _Directive(text, must_fix=False) for text in said.incorporate}
    return taken | {_meaning(text, seats): _Directive(text, must_fix=True) for text in said.must_fix} | taken


def _meaning(directive: str, seats: Collection[str]) -> _Meaning:
    """The words that matter, in whatever order, and the seats in theirs: who stands in for whom is told by that."""
    words = [it.strip(".:-") for it in _WORD.findall(_ASIDE.sub("", directive.lower()))]
    return frozenset(words) - _FILLING, tuple(it for it in words if it in {seat.lower() for seat in seats})


def describe_judge_verdicts(
    heard: Sequence[Mapping[str, Directives]], verdicts: SwappedOrderVerdicts, base: str, said_once: Sequence[str]
) -> str:
    """How the judges came out, in a few words: whom they prefer, who does not count and why, who preferred itself."""
    said = [f"{seat} {votes}" for seat, votes in verdicts.tally().items()]
    once = [it for it in verdicts.void if not all(it in order for order in heard)]
    turned = [it for it in verdicts.void if it not in once]
    turning = join_names([f"“{join_text_lines(it)}”" for it in said_once])
    own = [it for it, preferred in verdicts.preferred.items() if preferred == it]
    parts = [f"Among equals the judges prefer: {', '.join(said)}." if said else ""]
    parts += [f"Void, since it turned with the order: {join_names(turned)}." if turned else ""]
    parts += [f"Not counted, since only one order was answered: {join_names(once)}." if once else ""]
    parts += [f"Its own work, unsigned, was preferred by {join_names(own)}." if own else ""]
    parts += [f"Void, since it was wanted in only one order: {turning}." if turning else ""]
    parts += ["" if said else f"{'No verdict stands' if verdicts.void else 'No judge answered'}; {_by_order(base)}"]
    return " ".join(filter(None, parts))


def describe_missing_judges(base: str) -> str:
    """That nobody could be asked among equals."""
    return f"Nobody could judge among equals; {_by_order(base)}"


def _by_order(base: str) -> str:
    return f"{base}'s was taken because it came first of those that running could not tell apart."


def describe_merge_regression(again: Candidate, base: Candidate) -> str:
    """How something that was made of a candidate fails what that passed, or cannot be written; nothing if it does."""
    failed = {(check.name, check.original_tests) for check in base.checks if not check.passed}
    broke = tuple(check for check in again.checks if not (check.passed or (check.name, check.original_tests) in failed))
    why = summarize_candidate_failure(msgspec.structs.replace(again, checks=broke))
    lost = [test for test, passed in base.tests.items() if passed and not again.tests.get(test, False)]
    return why or (f"It no longer passes {join_names([join_text_lines(it) for it in lost])}." if lost else "")


def describe_synthesis(made: DraftsSynthesised, base: str) -> str:
    """What came from whom, in a sentence."""
    if not made.took and not made.removed:
        return f"All of it is {base}'s."
    taken = [f"{it.symbol or it.path} of {it.seat}" for it in made.took]
    gone = [it.symbol for it in made.removed]
    parts = [f"{word} {join_names(names)}" for word, names in (("with", taken), ("without", gone)) if names]
    return f"The base is {base}'s, {' and '.join(parts)}."


class SwappedOrderVerdicts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What each judge prefers in either order, and who is void because the order decided."""

    preferred: dict[str, str] = {}
    void: tuple[str, ...] = ()

    def tally(self) -> dict[str, int]:
        """How many standing verdicts each candidate has, the most first."""
        chosen = list(self.preferred.values())
        return {it: chosen.count(it) for it in sorted(set(chosen), key=lambda it: (-chosen.count(it), it))}


def compare_swapped_order_verdicts(
    ab: Mapping[str, str], ba: Mapping[str, str], candidates: Collection[str]
) -> SwappedOrderVerdicts:
    """Hold what each judge preferred when it read (A, B) against what it preferred when it read (B, A).

    The values are candidates by name. Who changes with the order is void, and so is who was heard in only one of them.
    """
    judges = dict.fromkeys((*ab, *ba))
    preferred = {it: ab[it] for it in judges if ab.get(it) == ba.get(it) and ab.get(it) in candidates}
    return SwappedOrderVerdicts(preferred, tuple(it for it in judges if it not in preferred))
