"""From a hunk back to who wanted it, who wrote it and who said yes, as plain text for every view to tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from roundtable.core.changes import Choice, Hunk
from roundtable.core.effects import (
    Applied,
    ApplyChange,
    Candidate,
    CandidatesTried,
    CheckOutcome,
    Drafted,
    DraftMove,
    PlanChange,
    Planned,
    Rehearse,
    Rehearsed,
    Synthesise,
    Synthesised,
    Took,
)
from roundtable.core.events import GateAnswered
from roundtable.core.session import Session
from roundtable.core.values import Digest, Gate
from roundtable.core.views.clean import visible

R = TypeVar("R")

CANDIDATE_HEAD = ("Candidate", "Files", "Checks", "Tests", "Behaves like", "Result")
CHECK_HEAD = ("Check", "Before", "After")
TOOK_HEAD = ("File", "Part", "From")
UNASKED = "nobody asked for it"
NO_NEWLINE = "\\ No newline at end of file"
"""Stands after a last line that does not end, as in git's own diffs."""


class Provenance(NamedTuple):
    """One hunk: who wrote it, what became of it by whose word, and what that person wrote instead, if they did."""

    hunk: Hunk
    wrote: tuple[str, ...]
    became: str = ""
    by: str = ""
    rewritten: tuple[str, ...] = ()


class Carried(NamedTuple):
    """How far a change came: the plan, each hunk's story, the rehearsal, what was written."""

    planned: Planned
    hunks: tuple[Provenance, ...]
    took: tuple[Took, ...] = ()
    rehearsed: Rehearsed | None = None
    applied: Applied | None = None


def asks_for_approval(gate: Gate) -> bool:
    """Whether a gate asks about the hunks of a plan."""
    return gate.writes and "some" in gate.options


def planned(session: Session) -> tuple[Digest, Planned] | None:
    """The newest plan and the draft it is of."""
    for step, result in reversed(session.results.items()):
        effect = session.effects.get(step)
        if isinstance(result, Planned) and isinstance(effect, PlanChange):
            return effect.draft, result
    return None


def carried(session: Session) -> Carried | None:
    """What became of the newest plan; None where a session planned nothing."""
    found = planned(session)
    if found is None:
        return None
    draft, plan = found
    said = _approval(session)
    authors = authors_of(session, draft)
    hunks = tuple(_provenance(it, authors, said) for it in plan.hunks)
    return Carried(plan, hunks, authors.took, _newest(session, Rehearsed), _newest(session, Applied))


def candidates(session: Session) -> CandidatesTried | None:
    """The candidates as they were tried last."""
    return _newest(session, CandidatesTried)


def _newest(session: Session, kind: type[R]) -> R | None:
    return next((it for it in reversed(session.results.values()) if isinstance(it, kind)), None)


def _approval(session: Session) -> GateAnswered | None:
    """The answer that a written change rests on, or the last one given to a plan."""
    applying = [it.gate for it in session.effects.values() if isinstance(it, ApplyChange)]
    asked = applying[-1:] or [id for id, gate in session.gates.items() if asks_for_approval(gate)]
    return next((session.answers[id] for id in reversed(asked) if id in session.answers), None)


def choice_of(said: GateAnswered) -> Choice:
    """Which hunks an answer leaves or rewrites; words that are no choice change nothing."""
    try:
        return msgspec.json.decode(said.text, type=Choice) if said.option == "some" else Choice()
    except msgspec.MsgspecError:
        return Choice()


def said_words(said: GateAnswered) -> str:
    """What a person wrote with an answer; a choice of hunks in words."""
    choice = choice_of(said)
    named = {"left out": choice.rejected, "rewritten": tuple(choice.edited)}
    return "; ".join(f"{what} {', '.join(ids)}" for what, ids in named.items() if ids) or said.text


class Authors(NamedTuple):
    """Whose a draft is, and which parts of it came from others."""

    seats: tuple[str, ...] = ()
    took: tuple[Took, ...] = ()

    def of(self, path: str) -> tuple[str, ...]:
        """Who wrote what stands in a file."""
        return tuple(dict.fromkeys((*self.seats, *(it.seat for it in self.took if it.path == path))))


def authors_of(session: Session, draft: Digest) -> Authors:
    """Trace a draft back through the steps that made it."""
    for step, result in reversed(session.results.items()):
        effect = session.effects.get(step)
        match effect, result:
            case DraftMove(), Drafted() if result.draft == draft:
                before = authors_of(session, effect.over) if effect.over not in ("", draft) else Authors()
                return Authors(tuple(dict.fromkeys((*before.seats, effect.seat))), before.took)
            case Synthesise(), Synthesised() if result.draft == draft:
                return Authors((effect.base,), result.took)
            case Rehearse(), Rehearsed() if result.draft == draft and effect.draft != draft:
                return authors_of(session, effect.draft)
            case _, CandidatesTried():
                if wrote := [it.seat for it in result.candidates if it.draft == draft]:
                    return Authors((wrote[0],))
            case _:
                pass
    brought = session.charter.settings
    return Authors((str(brought.get("by", "")),)) if draft and brought.get("draft") == draft else Authors()


def _provenance(hunk: Hunk, authors: Authors, said: GateAnswered | None) -> Provenance:
    wrote = authors.of(hunk.path)
    if said is None or said.option == "ask":
        return Provenance(hunk, wrote)
    choice = choice_of(said)
    became = "rewritten" if hunk.id in choice.edited else "taken"
    if said.option == "none" or hunk.id in choice.rejected:
        became = "left out"
    rewritten = tuple(f"+{visible(line)}" for line in choice.edited.get(hunk.id, "").splitlines())
    return Provenance(hunk, wrote, became, said.by, rewritten)


# --- in words ------------------------------------------------------------------------------------


def provenance_words(it: Provenance) -> str:
    """`asked for by D-12, written by gpt, taken by anna`."""
    words = [f"asked for by {it.hunk.asked_by}" if it.hunk.asked_by else UNASKED]
    words += [f"written by {' and '.join(it.wrote)}"] if it.wrote else []
    words += [f"{it.became} ({it.by})" if it.by else it.became] if it.became else []
    return ", ".join(words)


def diff_lines(hunk: Hunk) -> list[str]:
    """The hunk as a diff has it; what a terminal would obey is written out, but for line ends that are all alike."""
    lines = [*(f"-{it}" for it in hunk.before), *(f"+{it}" for it in hunk.after)]
    crlf = all(line.endswith("\r") for line in lines if line[1:] != NO_NEWLINE)
    return [visible(line.removesuffix("\r") if crlf else line) for line in lines]


def place(hunk: Hunk) -> str:
    """Which part of its file a hunk is about."""
    return f"line {hunk.first}" if is_text(hunk) else f"its {hunk.id.rpartition('#')[2]}"


def is_text(hunk: Hunk) -> bool:
    """Whether it is about lines; else it is about the file's name or mode."""
    return hunk.id.rpartition("#")[2].isdecimal()


def written_words(applied: Applied) -> Iterator[str]:
    """What was written and how it is taken back."""
    where = f" on the branch {applied.branch}" if applied.branch else ""
    commit = f", commit {applied.commit[:12]}{where}" if applied.commit else where
    yield f"Written{commit}: {', '.join(applied.files)}."
    yield f"Take it back with: roundtable undo {applied.undo}"


def plan_lines(plan: Planned) -> Iterator[str]:
    """The plan in short: files and hunks, what nobody asked for, what is refused and what would be lost."""
    for path in dict.fromkeys(it.path for it in plan.hunks):
        own = [it for it in plan.hunks if it.path == path]
        more, less = sum(len(it.after) for it in own), sum(len(it.before) for it in own)
        yield f"{path}: {many(len(own), 'hunk')}, +{more} -{less}"
    for id in plan.unasked:
        yield f"Nobody asked for {id}."
    for it in plan.refused:
        yield f"Not written: {it.path} ({it.sentence.rstrip('.')})."
    for it in plan.destroys:
        yield f"Lost for good: {it.rstrip('.')}."


def candidate_rows(tried: CandidatesTried) -> list[tuple[str, ...]]:
    """A row per candidate under CANDIDATE_HEAD, best first."""
    return [_candidate_row(it, tried.candidates) for it in tried.candidates]


def _candidate_row(it: Candidate, others: Sequence[Candidate]) -> tuple[str, ...]:
    alike = [other.seat for other in others if other.cluster == it.cluster and other is not it]
    like = ", ".join(alike) or "nobody else" if it.cluster else "–"
    ended = "refused" if it.refused or not it.draft else "passed" if it.passed else "did not pass"
    return (
        it.seat,
        str(len(it.files)),
        _share(outcome.passed for outcome in it.checks),
        _share(it.tests.values()),
        like,
        ended,
    )


def _share(passed: Iterable[bool]) -> str:
    ended = list(passed)
    return f"{sum(ended)} of {len(ended)}" if ended else "–"


def check_rows(rehearsed: Rehearsed) -> list[tuple[str, ...]]:
    """A row per check under CHECK_HEAD."""
    before = {it.name: it for it in rehearsed.before}
    return [(it.name, _ended(before.get(it.name)), _ended(it)) for it in rehearsed.checks]


def _ended(outcome: CheckOutcome | None) -> str:
    if outcome is None:
        return "–"
    if outcome.limit is not None:
        return f"stopped ({outcome.limit})"
    return "passed" if outcome.passed else "stopped" if outcome.code is None else f"failed ({outcome.code})"


def took_rows(took: Iterable[Took]) -> list[tuple[str, ...]]:
    """A row per part under TOOK_HEAD."""
    return [(it.path, it.symbol or "all of it", it.seat) for it in took]


def many(number: int, thing: str) -> str:
    """`1 hunk`, `2 hunks`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
