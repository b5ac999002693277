"""What becomes of a change by what running it showed and what a person said: the sentences and decisions of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from roundtable.core.changes import Choice, Create, Delete, Edit, Operation, PutSymbol, Refusal, Rename, Replace
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
from roundtable.core.wording import ended, many, unbroken

APPLIED = "applied"
"""What a decision that was carried out has as its next step."""

LATER = "later"
NO_CHECKS = "There are no checks here to run."
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
    yield from map(_refusal, it.refused)
    if not it.draft and not it.refused:
        yield "There is nothing in it that could be written."
    yield from (_why(outcome) for outcome in it.checks if not outcome.passed)


def told_of(it: Candidate) -> str:
    """The same for the seat that wrote it, with what the checks said."""
    said = [*(f"Not written. {ended(why)}" for why in reasons(msgspec.structs.replace(it, checks=())))]
    said += [f"{_check(outcome)}\n{outcome.output[-_TOLD:]}".strip() for outcome in it.checks if not outcome.passed]
    wrong = [name for name, passed in it.tests.items() if not passed]
    said += [f"Tests it did not pass: {', '.join(unbroken(name) for name in wrong)}."] if wrong else []
    return "\n".join(said) or "It passed everything that was run."


def _why(outcome: CheckOutcome) -> str:
    """What a check found; one of ours, which is no program, says it in its first line."""
    ours = outcome.output.partition("\n")[0] if not outcome.argv else ""
    return f"{unbroken(outcome.name)}: {ended(unbroken(ours))}" if ours else _check(outcome)


def _check(outcome: CheckOutcome) -> str:
    how = "was stopped" if outcome.code is None else f"failed with exit code {outcome.code}"
    return f"The check {unbroken(outcome.name)} {how}."


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
    where = f", run in {tried.sandbox}" if tried.sandbox else ""
    passed = f"{seat}'s candidate {_passed(it)}{where}."
    how = " ".join(filter(None, (passed, _left_out(it), tried.how, why)))
    decision = _decision(Outcome.REACHED, how, rounds)
    proposals = tuple(Proposal(each.seat, f"changes {listed(each.files)}", (each.seat,)) for each in tried.candidates)
    return msgspec.structs.replace(
        decision,
        winner=seat,
        author=seat,
        position=f"{unbroken(question)}: {seat} changes {listed(it.files)}",
        text=last_words(rounds)[seat].text if seat in last_words(rounds) else "",
        proposals=proposals,
    )


def _left_out(it: Candidate) -> str:
    return f"Left out, since they do not go with the code: {listed([unbroken(path) for path in it.without])}." * bool(
        it.without
    )


def behaviours(tried: CandidatesTried) -> dict[str, tuple[str, ...]]:
    """Those that passed best, by one seat of each way they behave; one way is none to choose between."""
    ways: dict[int, list[str]] = {}
    for it in alike(tried):
        ways.setdefault(it.cluster, []).append(it.seat)
    return {seats[0]: tuple(seats) for seats in ways.values()} if len(ways) > 1 and tried.apart else {}


def which(tried: CandidatesTried) -> str:
    """What the person is asked where candidates pass everything and do not do the same."""
    said = [f"{unbroken(call)}: {', '.join(_came(it) for it in came.items())}." for call, came in tried.apart.items()]
    return " ".join(("These pass everything that was run, and do not do the same.", *said, "Which is right?"))


def does(tried: CandidatesTried, seat: str) -> str:
    """What comes out of one candidate where they differ."""
    return "; ".join(f"{unbroken(call)} is {_value(came[seat])}" for call, came in tried.apart.items() if seat in came)


def _came(it: tuple[str, str]) -> str:
    return f"{_value(it[1])} with {it[0]}'s"


def _value(said: str) -> str:
    """What came out of a call, as a word for people."""
    return unbroken(said.removeprefix("= "))[:80] if said.startswith("= ") else f"an error ({unbroken(said[1:])[:80]})"


def of_one_way(tried: CandidatesTried, seats: Sequence[str]) -> CandidatesTried:
    """The same with only those as the best that behave as the person chose."""
    return msgspec.structs.replace(tried, best=tuple(seats), apart={})


def undecided(tried: CandidatesTried, rounds: Sequence[Round], *, answered: bool) -> Decision:
    """Nothing is chosen: those that passed contradict each other, and nobody said which is right."""
    said = which(tried).removesuffix(" Which is right?")
    who = "The person took none of them." if answered else "Nobody was there to say which is right."
    return _decision(Outcome.DEADLOCK, f"No candidate passed beyond doubt. {said} {who}", rounds)


def _passed(it: Candidate) -> str:
    checks = many(len(it.checks), "check") if it.checks else ""
    share = "every test" if all(it.tests.values()) else f"{sum(it.tests.values())} of {many(len(it.tests), 'test')}"
    passed = listed([part for part in (checks, f"{share} the seats wrote" if it.tests else "") if part])
    return f"passed {passed}" if passed else "can be written; there is no check here that it could pass"


def _decision(outcome: Outcome, how: str, rounds: Sequence[Round]) -> Decision:
    first = rounds[0] if rounds else Round("", ())
    return Decision(
        outcome,
        how=how,
        electorate=first.electorate,
        counted=tuple(move.seat for move in first.moves),
        missing=tuple(Absence(it.seat, it.fault) for it in first.missing),
        basis=tuple(round.name for round in rounds),
    )


def with_who_was_asked(decision: Decision) -> Decision:
    """The decision with a word where all were to write and there was only one."""
    alone = ("One seat wrote this alone.",) if len(decision.electorate) == 1 else ()
    return msgspec.structs.replace(decision, notices=(*decision.notices, *alone))


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


def judged(heard: Sequence[Mapping[str, Directives]], verdicts: Verdicts, names: Mapping[str, str], base: str) -> str:
    """How the judges came out, in a few words: whom they prefer, who does not count and why, who preferred itself."""
    said = [f"{names[it]} {votes}" for it, votes in verdicts.tally().items()]
    once = [it for it in verdicts.void if not all(it in order for order in heard)]
    turned = [it for it in verdicts.void if it not in once]
    own = [it for it, preferred in verdicts.preferred.items() if names[preferred] == it]
    parts = [f"Among equals the judges prefer: {', '.join(said)}." if said else ""]
    parts += [f"Void, since it turned with the order: {listed(turned)}." if turned else ""]
    parts += [f"Not counted, since only one order was answered: {listed(once)}." if once else ""]
    parts += [f"Its own work, unsigned, was preferred by {listed(own)}." if own else ""]
    parts += ["" if said else f"{'No verdict stands' if verdicts.void else 'No judge answered'}; {_by_order(base)}"]
    return " ".join(filter(None, parts))


def unjudged(base: str) -> str:
    """That nobody could be asked among equals."""
    return f"Nobody could judge among equals; {_by_order(base)}"


def _by_order(base: str) -> str:
    return f"{base}'s was taken because it came first of those that running could not tell apart."


def left_over(made: Synthesised) -> str:
    """What could not be spliced, for the seat that is asked to do it."""
    return "\n".join(
        f"- {it.directive} (only in {listed(it.files)})" if it.files else f"- {it.directive}" for it in made.left
    )


def concerned(made: Synthesised) -> tuple[str, ...]:
    """The only files that may change for what could not be spliced; none where it does not say which."""
    known = all(it.files for it in made.left)
    return tuple(dict.fromkeys(path for it in made.left for path in it.files)) if known else ()


def is_worse(again: Rehearsed, base: Candidate) -> bool:
    """Whether something that was made of a candidate fails what that passed, or cannot be written."""
    failed = {it.name for it in base.checks if not it.passed}
    broke = any(not it.passed and it.name not in failed for it in again.checks)
    return bool(again.refused or again.lost) or broke


def spliced(made: Synthesised, base: str) -> str:
    """What came from whom, in a sentence."""
    if not made.took and not made.removed:
        return f"All of it is {base}'s."
    taken = [f"{it.symbol or it.path} of {it.seat}" for it in made.took]
    gone = [it.symbol for it in made.removed]
    parts = [f"{word} {listed(names)}" for word, names in (("with", taken), ("without", gone)) if names]
    return f"The base is {base}'s, {' and '.join(parts)}."


# --- on its way to the workspace -----------------------------------------------------------------


def against(planned: Planned) -> str:
    """Why a plan cannot be carried out."""
    return " ".join(map(_refusal, planned.refused)) or "It changes nothing."


def approval(planned: Planned, seat: str, before: str = "") -> str:
    """What the person is asked about a plan; first, what became of their answer before, if there was one."""
    paths = list(dict.fromkeys(it.path for it in planned.hunks))
    size = f"{many(len(planned.hunks), 'hunk')} in {listed([unbroken(path) for path in paths])}"
    return f"{before} {seat} wants to change {size}. Write it to your workspace?".strip()


def back(why: str) -> str:
    """Why the person is asked once more about the same draft."""
    return f"Nothing is written yet. {why} Choose again."


def mended(why: str, seat: str) -> str:
    """Why the person is asked about another draft."""
    return f"Nothing is written yet. {why} {seat} has mended it."


def rewritten(choice: str) -> tuple[str, ...]:
    """The hunks that the person wrote anew, by their answer."""
    return tuple(msgspec.json.decode(choice, type=Choice).edited) if choice else ()


def asked_about(planned: Planned, words: str) -> str:
    """The hunks the person's words name, or all of them, as a diff."""
    named = [it for it in planned.hunks if it.id in words] or planned.hunks
    return "\n".join("\n".join((it.id, *(f"{sign}{line}" for sign, side in it.sides for line in side))) for it in named)


def destruction(rehearsed: Rehearsed, phrase: str) -> str:
    """What the person must type a phrase for."""
    lost = " ".join(ended(unbroken(it)) for it in rehearsed.destroys)
    return f"This would be lost for good: {lost} To allow it, confirm with the words: {phrase}"


def trouble(rehearsed: Rehearsed) -> str:
    """What went wrong in a rehearsal; nothing if all is well."""
    said = [_refusal(it) for it in rehearsed.refused]
    said += [f"The hunk {unbroken(id)} did not survive the merge." for id in rehearsed.lost]
    broke = [it for it in rehearsed.checks if it.name in rehearsed.broke]
    ran_before = {it.name for it in rehearsed.before}
    said += [f"It breaks a check that passed before. {_check(it)}" for it in broke if it.name in ran_before]
    said += [f"The tests that come with it fail. {it.output[-_TOLD:]}" for it in broke if it.name not in ran_before]
    return " ".join((*said, _leaning(rehearsed) if broke else "")).strip()


def _leaning(rehearsed: Rehearsed) -> str:
    """That the checks need what the commit does not have."""
    names = listed([unbroken(path) for path in rehearsed.leans])
    return f"A check fails on what is committed, and passes together with what is not: {names}." if names else ""


def what_broke(rehearsed: Rehearsed) -> str:
    """The same for the seats, with what the checks said."""
    broke = [f"{_check(it)}\n{it.output[-_TOLD:]}".strip() for it in rehearsed.checks if it.name in rehearsed.broke]
    return "\n".join((*map(_refusal, rehearsed.refused), *broke))


def _refusal(it: Refusal) -> str:
    where = f"{unbroken(it.path)}: " if it.path else ""
    return f"{where}{ended(unbroken(it.sentence))}"


def message(question: str, position: str = "") -> str:
    """The first line of a commit: what was decided, or the task where that is all the decision says."""
    task = unbroken(question)
    line = task if unbroken(position).startswith(task) else unbroken(position) or task
    return (line if len(line) <= _SUBJECT else f"{line[: _SUBJECT - 1]}…").rstrip(".")


def approvals(approved: Sequence[str], needed: int, against: Mapping[str, str]) -> str:
    """What a change lacks of the approvals it needs."""
    said = [f"{seat} asks for changes: {ended(unbroken(why))}" for seat, why in against.items()]
    return " ".join((f"{len(approved)} of {needed} seats that did not write it approved it.", *said))


def unwritten(decision: Decision, why: str) -> Decision:
    """Nothing was written, because something stands against it."""
    return _without(decision, Outcome.DEADLOCK, f"Nothing was written. {why}")


def left(decision: Decision, trouble: str = "", *, answered: bool) -> Decision:
    """The person took none of it, or nobody was there to say yes; `trouble` is what an earlier yes came to."""
    if answered:
        return _without(decision, Outcome.REJECTED, "The person said no, so nothing was written.")
    if trouble:
        return unwritten(decision, trouble)
    return unclear(decision, "nobody said yes")


def unclear(decision: Decision, why: str) -> Decision:
    """Nothing was written, for want of a clear yes; there still can be one."""
    how = f"Nothing was written: {why}. `roundtable apply` with this session shows it again."
    return msgspec.structs.replace(_without(decision, Outcome.DEADLOCK, how), next_step=LATER)


def only_shown(decision: Decision, planned: Planned) -> Decision:
    """A plan was all that was asked for."""
    shown = f"This was a dry run: nothing was written of {many(len(planned.hunks), 'hunk')}."
    return msgspec.structs.replace(decision, how=f"{decision.how} {shown}", next_step=LATER)


def not_applied(decision: Decision, fault: Fault) -> Decision:
    """The last step failed."""
    return _without(
        decision, Outcome.DEADLOCK, f"It was approved, and could not be written. {fault.message} {fault.help}"
    )


def written(decision: Decision, applied: Applied, rehearsed: Rehearsed, rewritten: Sequence[str] = ()) -> Decision:
    """It stands in the workspace. What running showed of a candidate is not said of what the person wrote anew."""
    where = f" on the branch {applied.branch}" if applied.branch else ""
    commit = f" as commit {applied.commit[:12]}{where}" if applied.commit else where
    checks = f" after {many(len(rehearsed.checks), 'check')} on the merged tree" if rehearsed.checks else ""
    files = listed([unbroken(path) for path in applied.files])
    how = f"Written{commit}{checks}: {files}. To take it back: roundtable undo {applied.undo}"
    unchecked = "" if rehearsed.checks else NO_CHECKS
    anew = f"The person wrote {listed([unbroken(id) for id in rewritten])} anew." if rewritten else ""
    told = (ended(how), unchecked, applied.note, _leaning(rehearsed), anew or decision.how)
    kept = listed([unbroken(path) for path in applied.left])
    left = (f"Not written, since somebody changed it in that very moment: {kept}.",) if kept else ()
    return msgspec.structs.replace(
        decision,
        how=" ".join(filter(None, told)),
        text="\n\n".join(filter(None, (anew, decision.text))),
        notices=(*decision.notices, *left),
        next_step=APPLIED,
    )


def _without(decision: Decision, outcome: Outcome, why: str) -> Decision:
    return msgspec.structs.replace(decision, outcome=outcome, how=f"{ended(decision.how)} {why}".strip())
