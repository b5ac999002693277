"""What running the candidates for a change showed, and the decision that comes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from roundtable.core.changeset import Refusal
from roundtable.core.effects import Candidate, CandidatesTried, CheckKind, CheckOutcome
from roundtable.core.faults import Fault
from roundtable.core.reasons import CheckRemark, Reasons, Said
from roundtable.core.sandbox import Limit
from roundtable.core.text.wording import end_sentence, join_names, join_text_lines, pluralize
from roundtable.core.values import Absence, Decision, Outcome, Proposal, Round

EVIDENCE_CHECKS = (CheckKind.EVIDENCE, CheckKind.AGREEMENT)
"""The checks that something shows that a change does what it is for."""
PASSES, FAILS = "passes", "fails"
"""How a test ends with a candidate, beside what comes out of it for inputs."""
_GIST = 200
_BLANKS = re.compile(" {2,}")
_SAID = 3
MAX_CHECK_OUTPUT = 1_500
"""Characters of a check's output that a seat is told; the end of it says what went wrong."""


def failed_candidate_seats(tried: CandidatesTried) -> tuple[str, ...]:
    """The seats whose candidate was refused or did not pass."""
    return tuple(it.seat for it in tried.candidates if not it.passed)


def seats_lacking_only_evidence(tried: CandidatesTried) -> tuple[str, ...]:
    """The seats whose candidate lacks nothing but a test that shows that it does what it is for."""
    return tuple(it.seat for it in tried.candidates if _lacks_only(it, CheckKind.EVIDENCE))


def unverified_candidates(tried: CandidatesTried) -> tuple[Candidate, ...]:
    """Those that lack nothing but what would show that they do what they are for: a person may see that they do."""
    return tuple(filter(is_candidate_unverified, tried.candidates))


def is_candidate_unverified(it: Candidate) -> bool:
    """Whether it lacks nothing but that."""
    return _lacks_only(it, *EVIDENCE_CHECKS)


def _lacks_only(it: Candidate, *kinds: CheckKind) -> bool:
    """Whether it fails checks, all of these kinds."""
    failing = _failing(it)
    return bool(failing) and all(check.kind in kinds for check in failing)


def equally_good_candidates(tried: CandidatesTried) -> tuple[Candidate, ...]:
    """The best that passed, as far as running them can tell; those that write the same bytes are one."""
    passed = [it for it in tried.candidates if it.passed]
    best = [it for it in passed if it.seat in tried.best] or passed[:1]
    return tuple({it.draft: it for it in reversed(best)}.values())[::-1]


def candidates_failing_only_original_tests(tried: CandidatesTried) -> tuple[Candidate, ...]:
    """The first that passes all but the tests as they were: whether those may be others, a person says."""
    for it in tried.candidates:
        if (failing := _failing(it)) and all(check.original_tests for check in failing):
            return (it,)
    return ()


def candidate_warning(tried: CandidatesTried, seat: str) -> str:
    """What a person has to know before they say yes to a candidate."""
    it = _of(tried, seat)
    return " ".join(
        filter(
            None,
            (unverified_candidate_warning(it), _contest(tried, it), _put_back(it), *map(end_sentence, tried.unrun)),
        )
    )


def unverified_candidate_warning(it: Candidate) -> str:
    """That nothing shows whether a candidate is right, in words; nothing where something does."""
    return f"No candidate passed beyond doubt. {_all_but(it)}" if is_candidate_unverified(it) else ""


def _contest(tried: CandidatesTried, it: Candidate) -> str:
    if it.passed or is_candidate_unverified(it):
        return ""
    none = "No candidate passed beyond doubt" if unverified_candidates(tried) else "No candidate passed"
    return f"{none} with the tests as they were: {it.seat}'s passes only those it has changed."


def _of(tried: CandidatesTried, seat: str) -> Candidate:
    return next(it for it in tried.candidates if it.seat == seat)


def candidate_failure_reasons(it: Candidate) -> Iterator[str]:
    """Why a candidate did not pass, a sentence each."""
    yield from map(describe_refusal, it.refused)
    if not it.draft and not it.refused:
        yield "It changes nothing."
    yield from (_why(outcome) for outcome in it.checks if not outcome.passed)


def summarize_candidate_failure(it: Candidate) -> str:
    """The same in short: the first of them, and how many more there are; there may be one for each of its files."""
    said = list(candidate_failure_reasons(it))
    more = (f"And {pluralize(len(said) - _SAID, 'more reason')}.",) if len(said) > _SAID else ()
    return " ".join((*said[:_SAID], *more))


def describe_candidate_to_author(it: Candidate) -> str:
    """The same for the seat that wrote it, with what the checks said."""
    said = [
        *(
            f"Not written. {end_sentence(why)}"
            for why in candidate_failure_reasons(msgspec.structs.replace(it, checks=()))
        )
    ]
    failing = [outcome for outcome in it.checks if not outcome.passed and outcome.kind is not CheckKind.AGREEMENT]
    said += [f"{describe_failed_check(outcome)}\n{outcome.output[-MAX_CHECK_OUTPUT:]}".strip() for outcome in failing]
    wrong = [name for name, passed in it.tests.items() if not passed]
    said += [f"Tests it did not pass: {', '.join(join_text_lines(name) for name in wrong)}."] if wrong else []
    return "\n".join(said) or "It passed everything that was run."


def _why(outcome: CheckOutcome) -> str:
    """What a check found; a built-in one says it in the first line of its output."""
    ours = outcome.output.partition("\n")[0] if outcome.kind is not CheckKind.PROGRAM else ""
    return f"{check_label(outcome)}: {end_sentence(join_text_lines(ours))}" if ours else describe_check_failure(outcome)


def describe_check_failure(outcome: CheckOutcome) -> str:
    """How a check ended, and the line of its output that says why."""
    gist = join_text_lines(outcome.failure_line)[:_GIST]
    return (
        end_sentence(f"{describe_failed_check(outcome).removesuffix('.')}: {gist}")
        if gist
        else describe_failed_check(outcome)
    )


def describe_refusal(it: Refusal) -> str:
    """Why a file is not written."""
    where = f"{join_text_lines(it.path)}: " if it.path else ""
    return f"{where}{end_sentence(join_text_lines(it.sentence))}"


def describe_failed_check(outcome: CheckOutcome) -> str:
    """How a check ended that did not pass."""
    how = "was stopped" if outcome.code is None else f"failed with exit code {outcome.code}"
    return f"The check {check_label(outcome)} {how}."


def check_label(outcome: CheckOutcome) -> str:
    """The name of a check as people see it."""
    return f"{join_text_lines(outcome.name)}{' (with the original tests)' if outcome.original_tests else ''}"


def decide_no_candidate_passed(tried: CandidatesTried, rounds: Sequence[Round]) -> Decision:
    """Nothing was found that could be relied on, and why not, seat by seat."""
    why = [f"{it.seat}: {summarize_candidate_failure(it) or 'it did not pass.'}" for it in tried.candidates]
    decision = _decision(Outcome.DEADLOCK, " ".join(("No candidate passed.", *why, *_failed_before(tried))), rounds)
    return msgspec.structs.replace(decision, notices=(*decision.notices, *_unrun(tried)))


def decide_no_candidate_verified(tried: CandidatesTried, rounds: Sequence[Round], *, answered: bool) -> Decision:
    """The same where some lacked nothing but what would show that they are right, and no person took one."""
    decision = decide_no_candidate_passed(tried, rounds)
    who = "The person took none of them." if answered else "Nobody was there to take one all the same."
    return msgspec.structs.replace(decision, how=(*decision.how, Said(who)))


def _failed_before(tried: CandidatesTried) -> Iterator[str]:
    """The programs that no candidate passed and that did not pass without one either."""
    failing = {
        check.name for it in tried.candidates for check in it.checks if not (check.passed or check.original_tests)
    }
    programs = [it for it in tried.before if it.kind is CheckKind.PROGRAM]
    before = [it for it in programs if it.name in failing and not it.passed]
    yield from (f"{describe_failed_check(it).removesuffix('.')} before the change too." for it in before)
    if any(it.limit is Limit.TIME for it in before):
        yield "`seconds` under [sandbox] gives it more time."
    if any(it.code is not None for it in before):
        yield "What passes only with files that git ignores is given them by `copy` under [worktrees]."


def failed_step_decision(fault: Fault, rounds: Sequence[Round] = ()) -> Decision:
    """A step of the workshop could not be done."""
    return _decision(Outcome.DEADLOCK, f"{end_sentence(fault.message)} {fault.help}".strip(), rounds)


def decide_candidate_chosen(
    tried: CandidatesTried, rounds: Sequence[Round], seat: str, question: str, why: str = "", *, judged: bool = False
) -> Decision:
    """The decision for one seat's candidate, in that seat's own words; `judged` where others have found for it."""
    it = _of(tried, seat)
    where = f", run in {tried.sandbox}" if tried.sandbox and (it.checks or it.tests) else ""
    passed = f"{seat}'s candidate {_passed(it)}{where}."
    how = " ".join(filter(None, (_contest(tried, it), passed, _left_out(it), tried.how, *_set_aside(tried, seat), why)))
    decision = _decision(Outcome.REACHED, how, rounds)
    words = next((move for round in rounds if round.name == it.round and (move := round.move_of(seat))), None)
    proposals = tuple(Proposal(each.seat, describe_candidate_files(each), (each.seat,)) for each in tried.candidates)
    return msgspec.structs.replace(
        decision,
        winner=seat,
        author=seat,
        position=change_position(question, seat, it.files),
        task_only=True,
        text=words.text if words else "",
        proposals=proposals,
        notices=(
            *decision.notices,
            *_unrun(tried),
            *_untried(it, judged=judged),
            *map(Said, filter(None, (unverified_candidate_warning(it),))),
        ),
    )


def describe_candidate_files(it: Candidate) -> str:
    """What a candidate is, in a few words."""
    return f"changes {join_names([join_text_lines(path) for path in it.files])}"


def change_position(question: str, seat: str, files: Sequence[str]) -> str:
    """What was decided, in a line."""
    return f"{join_text_lines(question)}: {seat} changes {join_names([join_text_lines(path) for path in files])}"


def _untried(it: Candidate, *, judged: bool) -> Reasons:
    """That a candidate rests on its author's word alone."""
    ran = it.checks or it.tests or it.cluster
    return () if ran or judged else (Said(f"Nothing was run on {it.seat}'s candidate, and nobody judged it."),)


def _unrun(tried: CandidatesTried) -> Reasons:
    """Which checks could not be run or showed nothing."""
    return tuple(map(CheckRemark, tried.unrun))


def _left_out(it: Candidate) -> str:
    """What of a candidate is not written although it could be, and why not."""
    without, restored = (join_names([join_text_lines(name) for name in names]) for names in (it.without, it.restored))
    said = [f"Left out, since they do not go with the code: {without}." if without else ""]
    said += [f"Left out, since tests that were there stand as they were: {restored}." if restored else ""]
    return " ".join(filter(None, (*said, _put_back(it))))


def _put_back(it: Candidate) -> str:
    names = join_names([join_text_lines(name) for name in it.put_back])
    return f"Put back as before, since the task does not name it and checks broke: {names}." if names else ""


def _set_aside(tried: CandidatesTried, taken: str) -> Iterator[str]:
    """Who is not chosen for one thing that a person may not mind: they may have meant just that."""
    for it in tried.candidates:
        minor = len(_failing(it)) == 1 and _lacks_only(
            it, CheckKind.SIDE_EFFECTS, CheckKind.REGRESSION, *EVIDENCE_CHECKS
        )
        if minor and it.seat != taken:
            yield _all_but(it)


def _all_but(it: Candidate) -> str:
    """What a candidate does not pass that is no program's, in a sentence."""
    why = join_text_lines(_failing(it)[0].output.partition("\n")[0])
    return f"{it.seat}'s passes everything but this: {end_sentence(why)}"


def _failing(it: Candidate) -> list[CheckOutcome]:
    """The checks that a candidate does not pass; none where it cannot be written at all."""
    return [check for check in it.checks if not check.passed] if it.draft and not it.refused else []


def cluster_seats_by_behaviour(tried: CandidatesTried) -> dict[str, tuple[str, ...]]:
    """Those that passed best, by one seat of each way they behave; one way is none to choose between."""
    ways: dict[int, list[str]] = {}
    for it in equally_good_candidates(tried):
        ways.setdefault(it.cluster, []).append(it.seat)
    return {seats[0]: tuple(seats) for seats in ways.values()} if len(ways) > 1 and tried.apart else {}


def which_behaviour_question(tried: CandidatesTried) -> str:
    """What the person is asked where candidates pass and do not do the same."""
    return " ".join(("These pass every check, and do not do the same.", *_differences(tried), "Which is right?"))


def _differences(tried: CandidatesTried) -> Iterator[str]:
    for call, came in tried.apart.items():
        yield f"{_spelled(call)}: {', '.join(map(_came, came.items()))}."


def describe_candidate_behaviour(tried: CandidatesTried, seat: str) -> str:
    """What comes out of one candidate where they differ, and how tests end with it."""
    found = ((_spelled(call), came[seat]) for call, came in tried.apart.items() if seat in came)
    return "; ".join(
        f"{call} {said}" if said in (PASSES, FAILS) else f"{call} is {_value(said)}" for call, said in found
    )


def _came(it: tuple[str, str]) -> str:
    return f"{_value(it[1])} with {it[0]}'s"


def _value(said: str) -> str:
    """What came out of a call, or how a test ended, as a word for people."""
    if said in (PASSES, FAILS):
        return said
    return (
        _spelled(said.removeprefix("= "))[:80]
        if said.startswith("= ")
        else f"an error ({join_text_lines(said[1:])[:80]})"
    )


def _spelled(code: str) -> str:
    """A call or a value with every one of its blanks, which may be what tells two apart: doors show several as one."""
    return join_text_lines(_BLANKS.sub(lambda it: r"\x20" * len(it[0]), code))


def unverified_question(tried: CandidatesTried) -> str:
    """What the person is asked where all that is left is doubted."""
    said = (*map(_all_but, unverified_candidates(tried)), *_differences(tried))
    return " ".join(("No candidate passed beyond doubt.", *said, "Take one all the same?"))


def rank_unverified_candidate_best(tried: CandidatesTried, seat: str) -> CandidatesTried:
    """The same with a doubted one as the best, by the person's word."""
    how = f"{tried.how} The person took {seat}'s all the same.".strip()
    return msgspec.structs.replace(tried, best=(seat,), apart={}, how=how)


def rank_candidate_cluster_best(tried: CandidatesTried, seats: Sequence[str]) -> CandidatesTried:
    """The same with only those as the best that behave as the person chose."""
    how = f"{tried.how} The person chose what {seats[0]}'s does."
    return msgspec.structs.replace(tried, best=tuple(seats), apart={}, how=how)


def decide_behaviour_undecided(tried: CandidatesTried, rounds: Sequence[Round], *, answered: bool) -> Decision:
    """Nothing is chosen: those that passed contradict each other, and nobody said which is right."""
    said = which_behaviour_question(tried).removesuffix(" Which is right?")
    who = "The person took none of them." if answered else "Nobody was there to say which is right."
    return _decision(Outcome.DEADLOCK, f"No candidate passed beyond doubt. {said} {who}", rounds)


def _passed(it: Candidate) -> str:
    ended_well = [check for check in it.checks if check.passed]
    checks = pluralize(len(ended_well), "check") if ended_well else ""
    share = (
        "every test" if all(it.tests.values()) else f"{sum(it.tests.values())} of {pluralize(len(it.tests), 'test')}"
    )
    passed = join_names([part for part in (checks, f"{share} the seats wrote" if it.tests else "") if part])
    return f"passed {passed}" if passed else "can be written; there is no check here that it could pass"


def _decision(outcome: Outcome, how: str, rounds: Sequence[Round]) -> Decision:
    first = rounds[0] if rounds else Round("", ())
    return Decision(
        outcome,
        how=(Said(how),),
        electorate=first.electorate,
        counted=tuple(move.seat for move in first.moves),
        missing=tuple(Absence(it.seat, it.fault) for it in first.missing),
        basis=tuple(round.name for round in rounds),
    )


def add_single_author_reason(decision: Decision) -> Decision:
    """The decision with a word where all were to write and there was only one."""
    alone = (Said("One seat wrote this alone."),) if len(decision.electorate) == 1 else ()
    return msgspec.structs.replace(decision, notices=(*decision.notices, *alone))
