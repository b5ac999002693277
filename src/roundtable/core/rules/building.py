"""What becomes of a change by what running it showed and what a person said: the sentences and decisions of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from roundtable.core.changes import Create, Delete, Edit, Operation, PutSymbol, Refusal, Rename, Replace
from roundtable.core.effects import (
    Applied,
    Candidate,
    CandidatesTried,
    CheckOutcome,
    Planned,
    Rehearsed,
    Synthesised,
)
from roundtable.core.faults import Fault
from roundtable.core.rules.base import listed
from roundtable.core.rules.conclusions import last_words
from roundtable.core.rules.order_swapped import Verdicts
from roundtable.core.values import Absence, Decision, Outcome, Proposal, Round
from roundtable.core.verdict import Directives
from roundtable.core.wording import ended

APPLIED = "applied"
"""What a decision that was carried out has as its next step."""

LATER = "later"
_SUBJECT = 72
_TOLD = 1_500
"""Characters of a check's output that a seat is told; the end of it says what went wrong."""


# --- candidates ----------------------------------------------------------------------------------


def failed(tried: CandidatesTried) -> tuple[str, ...]:
    """The seats whose candidate was refused or did not pass."""
    return tuple(it.seat for it in tried.candidates if not it.passed)


def alike(tried: CandidatesTried) -> tuple[Candidate, ...]:
    """The best that passed, as far as running them can tell; those that write the same bytes are one."""
    passed = [it for it in tried.candidates if it.passed]
    best = [it for it in passed if it.seat in tried.best] or passed[:1]
    return tuple({it.draft: it for it in reversed(best)}.values())[::-1]


def reasons(it: Candidate) -> Iterator[str]:
    """Why a candidate did not pass, a sentence each."""
    yield from (f"{_line(it.path)}: {_line(it.sentence)}" for it in it.refused)
    if not it.draft and not it.refused:
        yield "There is nothing in it that could be written."
    yield from (_check(outcome) for outcome in it.checks if not outcome.passed)


def told_of(it: Candidate) -> str:
    """The same for the seat that wrote it, with what the checks said."""
    said = [*(f"Not written. {ended(why)}" for why in reasons(msgspec.structs.replace(it, checks=())))]
    said += [f"{_check(outcome)}\n{outcome.output[-_TOLD:]}".strip() for outcome in it.checks if not outcome.passed]
    wrong = [name for name, passed in it.tests.items() if not passed]
    said += [f"Tests it did not pass: {', '.join(_line(name) for name in wrong)}."] if wrong else []
    return "\n".join(said) or "It passed everything that was run."


def _check(outcome: CheckOutcome) -> str:
    how = "was stopped" if outcome.code is None else f"failed with exit code {outcome.code}"
    return f"The check {_line(outcome.name)} {how}."


def none_passed(tried: CandidatesTried, rounds: Sequence[Round]) -> Decision:
    """Nothing was found that could be relied on, and why not, seat by seat."""
    why = [f"{it.seat}: {' '.join(reasons(it)) or 'it did not pass.'}" for it in tried.candidates]
    return _decision(Outcome.DEADLOCK, " ".join(("No candidate passed.", *why)), rounds)


def stopped(fault: Fault, rounds: Sequence[Round] = ()) -> Decision:
    """A step of the workshop could not be done."""
    return _decision(Outcome.DEADLOCK, f"{ended(fault.message)} {fault.help}".strip(), rounds)


def chosen(tried: CandidatesTried, rounds: Sequence[Round], seat: str, question: str, why: str = "") -> Decision:
    """The decision for one seat's candidate, in that seat's own words."""
    it = next(each for each in tried.candidates if each.seat == seat)
    passed = f"{seat}'s candidate passed {_share(it)}{f' in {tried.sandbox}' if tried.sandbox else ''}."
    how = " ".join(filter(None, (passed, tried.how, why)))
    decision = _decision(Outcome.REACHED, how, rounds)
    proposals = tuple(Proposal(each.seat, f"changes {listed(each.files)}", (each.seat,)) for each in tried.candidates)
    return msgspec.structs.replace(
        decision,
        winner=seat,
        author=seat,
        position=f"{_line(question)}: {seat} changes {listed(it.files)}",
        text=last_words(rounds)[seat].text if seat in last_words(rounds) else "",
        proposals=proposals,
    )


def _share(it: Candidate) -> str:
    checks = f"{len(it.checks)} of {len(it.checks)} checks" if it.checks else "no checks (there are none here)"
    tests = f" and {sum(it.tests.values())} of {len(it.tests)} tests the seats wrote" if it.tests else ""
    return checks + tests


def _decision(outcome: Outcome, how: str, rounds: Sequence[Round]) -> Decision:
    first = rounds[0] if rounds else Round("", ())
    alone = outcome is Outcome.REACHED and len(first.electorate) == 1
    return Decision(
        outcome,
        how=how,
        electorate=first.electorate,
        counted=tuple(move.seat for move in first.moves),
        missing=tuple(Absence(it.seat, it.fault) for it in first.missing),
        basis=tuple(round.name for round in rounds),
        notices=("One seat wrote this alone.",) if alone else (),
    )


# --- judging and merging -------------------------------------------------------------------------


def candidate_names(tied: Sequence[Candidate], labels: Mapping[str, str]) -> dict[str, str]:
    """Whose each blind name is, such as `candidate-B`."""
    return {f"candidate-{label}": seat for label, seat in sorted((labels[it.seat], it.seat) for it in tied)}


def with_seats(directive: str, names: Mapping[str, str]) -> str:
    """A judge's directive with the seats it means: `candidate-B` or `B's`."""
    for name, seat in names.items():
        letter = re.escape(name.rpartition("-")[2])
        pattern = rf"\b[Cc]andidate[- ]?{letter}\b|\b{letter}(?=['’]s\b)|(?<=\bfrom ){letter}\b"
        directive = re.sub(pattern, lambda _, seat=seat: seat, directive)
    return directive


def unsigned(operations: Sequence[Operation]) -> str:
    """A candidate as the judges read it: what it writes, and nothing of what its author said about it."""
    return "\n".join(map(_operation, operations))


def _operation(it: Operation) -> str:
    match it:
        case Create() | Replace():
            return f"{it.path}, whole:\n{it.text}"
        case PutSymbol():
            return f"{it.path}, {it.symbol}:\n{it.text}"
        case Edit():
            blocks = "\n".join(f"instead of:\n{block.search}\nthis:\n{block.replace}" for block in it.blocks)
            return f"{it.path}:\n{blocks}"
        case Delete():
            return f"{it.path} is deleted."
        case Rename():
            return f"{it.path} becomes {it.to}."


def wanted(
    heard: Sequence[Mapping[str, Directives]], verdicts: Verdicts, names: Mapping[str, str], base: str
) -> tuple[str, ...]:
    """What those judges want taken over or mended whose verdict stands and is for the base."""
    found: dict[str, None] = {}
    for order in heard:
        for judge, said in order.items():
            if names.get(verdicts.preferred.get(judge, "")) == base:
                found |= dict.fromkeys(with_seats(it, names) for it in (*said.incorporate, *said.must_fix))
    return tuple(found)


def judged(verdicts: Verdicts, names: Mapping[str, str], *, own: bool) -> str:
    """How the judges came out, in a few words."""
    said = [f"{names[it]} {votes}" for it, votes in verdicts.tally().items()]
    told = f"Among equals the judges prefer: {', '.join(said)}." if said else "The judges could not tell equals apart."
    void = f" Void, since it turned with the order: {listed(verdicts.void)}." if verdicts.void else ""
    return told + void + (" They judged their own work, unsigned, for nobody else was there." if own else "")


def left_over(made: Synthesised) -> str:
    """What could not be spliced, for the seat that is asked to do it."""
    return "\n".join(
        f"- {it.directive} (only in {listed(it.files)})" if it.files else f"- {it.directive}" for it in made.left
    )


def spliced(made: Synthesised, base: str) -> str:
    """What came from whom, in a sentence."""
    if not made.took:
        return f"All of it is {base}'s."
    parts = [f"{it.symbol or it.path} of {it.seat}" for it in made.took]
    return f"The base is {base}'s, with {listed(parts)}."


# --- on its way to the workspace -----------------------------------------------------------------


def against(planned: Planned) -> str:
    """Why a plan cannot be carried out."""
    return " ".join(map(_refusal, planned.refused)) or "It changes nothing."


def approval(planned: Planned, seat: str) -> str:
    """What the person is asked about a plan."""
    paths = list(dict.fromkeys(it.path for it in planned.hunks))
    size = f"{_many(len(planned.hunks), 'hunk')} in {listed([_line(path) for path in paths])}"
    unasked = f" Nobody asked for {listed(planned.unasked)}." if planned.unasked else ""
    return f"{seat} wants to change {size}.{unasked} Write it to your workspace?"


def asked_about(planned: Planned, words: str) -> str:
    """The hunks the person's words name, or all of them, as a diff."""
    named = [it for it in planned.hunks if it.id in words] or planned.hunks
    return "\n".join(
        "\n".join(
            (it.id, *(f"-{line}".rstrip("\n") for line in it.before), *(f"+{line}".rstrip("\n") for line in it.after))
        )
        for it in named
    )


def destruction(rehearsed: Rehearsed, phrase: str) -> str:
    """What the person must type a phrase for."""
    lost = " ".join(ended(_line(it)) for it in rehearsed.destroys)
    return f"This would be lost for good: {lost} To allow it, confirm with the words: {phrase}"


def trouble(rehearsed: Rehearsed) -> str:
    """What went wrong in a rehearsal; nothing if all is well."""
    said = [_refusal(it) for it in rehearsed.refused]
    said += [f"The hunk {_line(id)} did not survive the merge." for id in rehearsed.lost]
    broke = [it for it in rehearsed.checks if it.name in rehearsed.broke]
    return " ".join((*said, *(f"It breaks a check that passed before. {_check(it)}" for it in broke)))


def what_broke(rehearsed: Rehearsed) -> str:
    """The same for the seats, with what the checks said."""
    broke = [f"{_check(it)}\n{it.output[-_TOLD:]}".strip() for it in rehearsed.checks if it.name in rehearsed.broke]
    return "\n".join((*map(_refusal, rehearsed.refused), *broke))


def _refusal(it: Refusal) -> str:
    return f"{_line(it.path)}: {ended(_line(it.sentence))}"


def message(question: str) -> str:
    """The first line of a commit."""
    line = " ".join(question.split())
    return (line if len(line) <= _SUBJECT else f"{line[: _SUBJECT - 1]}…").rstrip(".")


def unwritten(decision: Decision, why: str) -> Decision:
    """Nothing was written, because something stands against it."""
    return _without(decision, Outcome.DEADLOCK, f"Nothing was written. {why}")


def left(decision: Decision, *, answered: bool) -> Decision:
    """The person took none of it, or nobody was there to say yes."""
    if answered:
        return _without(decision, Outcome.REJECTED, "The person said no, so nothing was written.")
    how = "Nothing was written: nobody said yes. `roundtable apply` with this session shows it again."
    return msgspec.structs.replace(_without(decision, Outcome.DEADLOCK, how), next_step=LATER)


def only_shown(decision: Decision, planned: Planned) -> Decision:
    """A plan was all that was asked for."""
    shown = f"This was a dry run: {_many(len(planned.hunks), 'hunk')} shown, nothing written."
    return msgspec.structs.replace(decision, how=f"{decision.how} {shown}", next_step=LATER)


def not_applied(decision: Decision, fault: Fault) -> Decision:
    """The last step failed."""
    return _without(
        decision, Outcome.DEADLOCK, f"It was approved, and could not be written. {fault.message} {fault.help}"
    )


def written(decision: Decision, applied: Applied, rehearsed: Rehearsed) -> Decision:
    """It stands in the workspace."""
    where = f" on the branch {applied.branch}" if applied.branch else ""
    commit = f" as commit {applied.commit[:12]}{where}" if applied.commit else where
    checks = f" after {_many(len(rehearsed.checks), 'check')} on the merged tree" if rehearsed.checks else ""
    files = listed([_line(path) for path in applied.files])
    how = f"Written{commit}{checks}: {files}. To take it back: roundtable undo {applied.undo}"
    return msgspec.structs.replace(decision, how=f"{how}. {decision.how}", next_step=APPLIED)


def _without(decision: Decision, outcome: Outcome, why: str) -> Decision:
    return msgspec.structs.replace(decision, outcome=outcome, how=f"{ended(decision.how)} {why}".strip())


def _line(text: str) -> str:
    return " ".join(text.split())


def _many(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
