"""Findings of a review: read from replies, merged across seats, and weighed by running their proofs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.decide.findings import (
    CodePlace,
    FindingStatus,
    WeighedFinding,
    decide_pooled_findings,
    decide_unproven_findings,
    keep_deciding_proofs_of_finding,
    weigh_findings_by_proof,
)
from roundtable.core.decide.review import decide_review
from roundtable.core.effects import ClaimsProven, Proof
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.replies import parse_seat_reply
from roundtable.core.values import Absence, Decision, Expect, Move, Outcome, Round
from roundtable.core.verdict import SEVERITIES, Claim, Issue, ParseStatus, Verdict
from roundtable.report.finding_words import render_review_decision_text
from roundtable.report.reasons import decision_sentence, notice_sentences
from tests.core.cases import verdict


def issue(text: str, location: str = "", severity: str = "high") -> Issue:
    return Issue(text, severity=severity, location=location)


def found(**seats: Sequence[Issue]) -> Round:
    """Return a blind round in which each seat lists its findings."""
    moves = tuple(Move("review/1-blind", seat, "", Verdict(issues=tuple(said))) for seat, said in seats.items())
    return Round("review/1-blind", tuple(seats), moves)


def weigh(round: Round, *proofs: Proof, **nowhere: str) -> tuple[WeighedFinding, ...]:
    return weigh_findings_by_proof(decide_pooled_findings(round), (ClaimsProven(proofs, nowhere, "bubblewrap"),))


def reviewed(findings: Sequence[WeighedFinding], rounds: Sequence[Round], place: str) -> Decision:
    return render_review_decision_text(decide_review(findings, rounds, place), findings)


# --- reading -------------------------------------------------------------------------------------


def test_a_finding_is_read_with_its_place_severity_and_proof() -> None:
    block = {
        "findings": [
            {"place": "src/a.py:3", "severity": "Critical", "wrong": "It divides by zero.", "proof": "exit(0)"},
            {"file": "src/b.py", "line": 7, "severity": "awful", "wrong": "It leaks.", "proof": ""},
            {"place": "", "severity": "low", "wrong": "none", "proof": "exit(1)"},
        ]
    }
    said = verdict("findings", f"Hm.\n```json\n{json.dumps(block)}\n```")
    assert said.issues == (
        issue("It divides by zero.", "src/a.py:3", "critical"),
        issue("It leaks.", "src/b.py:7", "medium"),
    )
    assert said.claims == (Claim("It divides by zero.", "exit(0)"),)


def test_an_empty_list_of_findings_counts_but_a_missing_list_does_not() -> None:
    assert verdict("findings", '{"findings": []}') == Verdict()
    assert verdict("findings", "All is well.").parse is ParseStatus.FAILED


@pytest.mark.parametrize("name", ["wrong", "finding", "issue", "description", "message", "problem"])
def test_the_description_of_a_finding_is_read_under_every_common_field_name(name: str) -> None:
    entry = {
        "file": "a.py",
        "line": 8,
        "severity": "high",
        name: "parse('a=b=c') raises ValueError",
        "proof": "exit(0)",
    }
    said = verdict("findings", json.dumps({"findings": [entry]}))
    assert said.issues == (issue("parse('a=b=c') raises ValueError", "a.py:8"),)
    assert [claim.program for claim in said.claims] == ["exit(0)"]


def test_a_plain_string_in_the_list_is_a_finding() -> None:
    assert verdict("findings", '{"findings": ["It leaks."]}').issues == (issue("It leaks.", severity="medium"),)


@pytest.mark.parametrize(
    "entries",
    [
        [{"place": "a.py:1", "severity": "high", "what_happens": "It crashes"}],
        [{"wrong": "It crashes"}, {"place": "a.py:1", "severity": "high", "proof": "exit(0)"}],
        [{"wrong": "<what is wrong, in one sentence>"}],
        [{"wrong": ""}],
        [{}],
        [1],
    ],
)
def test_a_list_with_an_unreadable_finding_is_malformed_with_the_reason(
    entries: list[object],
) -> None:
    reading = parse_seat_reply(Expect("findings"), json.dumps({"findings": entries}), structured=False)
    assert reading.verdict.parse is ParseStatus.FAILED
    assert reading.why.startswith("A finding has no description.")


def test_a_truncated_finding_makes_the_reply_unreadable() -> None:
    for cut in (
        '{"findings": [{"place": "a.py:1", "wrong": "It cr',
        '{"findings": [{"place": "a.py:1"',
        '{"findings": [',
    ):
        assert verdict("findings", cut).parse is ParseStatus.FAILED


def test_proofs_without_a_known_finding_are_malformed_with_the_reason() -> None:
    for entry in ({"finding": "Z9", "proof": "exit(0)"}, {"finding": "F1", "program": "exit(0)"}):
        reading = parse_seat_reply(Expect("proofs", ("F1", "F2")), json.dumps({"proofs": [entry]}), structured=False)
        assert reading.verdict.parse is ParseStatus.FAILED
        assert reading.why.endswith("Listed findings: F1, F2.")
    for none in ([], "none", [{"finding": "F1", "proof": ""}], [{"finding": "F1", "proof": None}]):
        assert verdict("proofs", json.dumps({"proofs": none}), ("F1", "F2")) == Verdict()


def test_a_proof_names_a_known_finding_and_its_language() -> None:
    given = [
        {"finding": "f1", "proof": "```js\nprocess.exit(0)\n```", "language": "js"},
        {"finding": "Z9", "proof": "exit(0)", "language": "python"},
        {"finding": "F2", "proof": "none", "language": "python"},
    ]
    said = verdict("proofs", json.dumps({"proofs": given}), ("F1", "F2"))
    assert said.claims == (Claim("F1", "process.exit(0)", "javascript"),)


def test_a_truncated_proof_is_not_run() -> None:
    cut = '{"findings": [{"place": "a.py:1", "severity": "low", "wrong": "It is slow", "proof": "import a\\nif a.f('
    assert verdict("findings", cut).claims == ()


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("src/a.py:3", CodePlace("src/a.py", 3, 3)),
        ("`./src/a.py:10-14`", CodePlace("src/a.py", 10, 14)),
        ("src/a.py:10:5", CodePlace("src/a.py", 10, 10)),
        ("src/a.py:14-10", CodePlace("src/a.py", 14, 14)),
        ("src/a.py", CodePlace("src/a.py")),
        ("", CodePlace()),
    ],
)
def test_a_code_place_is_read_in_every_common_notation(location: str, place: CodePlace) -> None:
    assert CodePlace.parse(location) == place


# --- pooling -------------------------------------------------------------------------------------


def test_findings_of_several_seats_are_merged_and_keep_the_words_of_each() -> None:
    one = issue("add() divides by zero for an empty cart", "src/cart.py:3-5", "medium")
    other = issue("An empty cart crashes with ZeroDivisionError", "src/cart.py:4", "critical")
    (finding,) = decide_pooled_findings(found(claude=[one], gpt=[other]))
    assert finding.seats == ("claude", "gpt")
    assert finding.severity == "critical"
    assert finding.line == "F1 [critical, src/cart.py:3-5] add() divides by zero for an empty cart"
    text = reviewed(weigh(found(claude=[one], gpt=[other])), (found(claude=[one], gpt=[other]),), "x").text
    assert "gpt: An empty cart crashes with ZeroDivisionError" in text


def test_similar_words_about_one_file_are_one_finding_on_any_line() -> None:
    one, other = issue("The token is never checked", "auth.py:3"), issue("Tokens are never checked.", "auth.py:90")
    assert len(decide_pooled_findings(found(claude=[one], gpt=[other]))) == 1
    denied = issue("The token is checked", "auth.py:90")
    assert len(decide_pooled_findings(found(claude=[one], gpt=[denied]))) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Division by zero at line 12 for an empty list.", "Division by zero at line 13 for an empty list."),
        ("Line 40: the file handle is never closed.", "Lines 38-44: the file handle is never closed."),
    ],
)
def test_line_numbers_in_the_words_do_not_separate_equal_findings(one: str, other: str) -> None:
    assert len(decide_pooled_findings(found(claude=[issue(one, "a.py:12")], gpt=[issue(other, "a.py:13")]))) == 1


def test_different_faults_on_one_line_and_equal_faults_in_two_files_are_separate_findings() -> None:
    same_line = found(claude=[issue("SQL injection", "db.py:3")], gpt=[issue("Off by one", "db.py:3")])
    assert len(decide_pooled_findings(same_line)) == 2
    crash, mean = "average() divides by zero for no prices", "average() returns a wrong mean"
    same_name = found(claude=[issue(crash, "shop.py:2")], gpt=[issue(mean, "shop.py:2")])
    assert len(decide_pooled_findings(same_name)) == 2
    two_files = found(claude=[issue("SQL injection", "db.py:3")], gpt=[issue("SQL injection", "log.py:3")])
    assert len(decide_pooled_findings(two_files)) == 2
    one_seat = found(claude=[issue("Cart loses items", "c.py:3"), issue("Cart counts items twice", "c.py:3")])
    assert len(decide_pooled_findings(one_seat)) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("half() returns a wrong value for the number 0", "half() returns a wrong value for the number 3"),
        ("half(-1) returns a wrong value here", "half(1) returns a wrong value here"),
        ("parse() loses the key 'a' of a query", "parse() loses the key 'b' of a query"),
        ("half() returns a wrong value for odd numbers", "double() returns a wrong value for odd numbers"),
        ("The loop over cart_items never ends on error", "The loop over cart_prices never ends on error"),
        ("send() is wrong when retry is True there", "send() is wrong when retry is False there"),
    ],
)
def test_similar_words_with_other_numbers_literals_or_names_are_two_findings(one: str, other: str) -> None:
    assert len(decide_pooled_findings(found(claude=[issue(one, "a.py:2")], gpt=[issue(other, "a.py:2")]))) == 2
    assert len(decide_pooled_findings(found(claude=[issue(one, "a.py:2")], gpt=[issue(one, "a.py:2")]))) == 1


def test_findings_are_listed_by_severity_then_file_then_line() -> None:
    listed = [
        issue("d", "b.py:1", "low"),
        issue("c", "b.py:9", "high"),
        issue("b", "b.py:2", "high"),
        issue("a", "a.py:9", "high"),
        issue("e", "z.py:1", "critical"),
    ]
    assert [finding.text for finding in decide_pooled_findings(found(claude=listed))] == ["e", "a", "b", "c", "d"]


def test_an_unreadable_review_has_no_findings() -> None:
    move = Move("r", "claude", "", Verdict(issues=(issue("x"),), parse=ParseStatus.FAILED))
    assert decide_pooled_findings(Round("r", ("claude",), (move,))) == ()


ISSUES = st.lists(
    st.builds(
        issue,
        st.text("abc ", min_size=1, max_size=12),
        st.sampled_from(("a.py:1", "a.py:1-9", "b.py", "")),
        st.sampled_from(SEVERITIES),
    ),
    max_size=5,
)


@given(ISSUES, ISSUES, ISSUES)
def test_no_finding_is_lost_or_counted_twice(a: list[Issue], b: list[Issue], c: list[Issue]) -> None:
    findings = decide_pooled_findings(found(claude=a, gpt=b, gemini=c))
    told = Counter((said.seat, said.issue) for finding in findings for said in finding.said)
    assert told == Counter((seat, issue) for seat, all in (("claude", a), ("gpt", b), ("gemini", c)) for issue in all)
    assert [finding.id for finding in findings] == [f"F{number}" for number in range(1, len(findings) + 1)]


# --- weighing ------------------------------------------------------------------------------------

FAULT = found(claude=[issue("It crashes", "a.py:1")])


@pytest.mark.parametrize(
    ("proofs", "standing"),
    [
        ([], FindingStatus.UNPROVEN),
        ([Proof("It crashes", "claude", True, held_before=False)], FindingStatus.REPRODUCED),
        ([Proof("It crashes", "claude", True)], FindingStatus.REPRODUCED),
        ([Proof("It crashes", "claude", True, held_before=True)], FindingStatus.OLD),
        ([Proof("It crashes", "claude", False)], FindingStatus.REFUTED),
        ([Proof("It crashes", "claude", None, why="It was stopped.")], FindingStatus.UNPROVEN),
        ([Proof("It crashes", "gpt", True)], FindingStatus.UNPROVEN),
        ([Proof("F1", "gpt", True)], FindingStatus.REPRODUCED),
        ([Proof("It crashes", "claude", False), Proof("F1", "gpt", True)], FindingStatus.REPRODUCED),
        ([Proof("It crashes", "claude", True, held_before=True), Proof("F1", "gpt", True)], FindingStatus.REPRODUCED),
        ([Proof("It crashes", "claude", None, why="x"), Proof("F1", "gpt", False)], FindingStatus.REFUTED),
    ],
)
def test_running_the_proofs_decides_the_status_of_a_finding(proofs: list[Proof], standing: FindingStatus) -> None:
    (weighed,) = weigh(FAULT, *proofs)
    assert weighed.standing is standing
    assert (weighed.finding in decide_unproven_findings((weighed,))) is (standing is FindingStatus.UNPROVEN)


CRASHES, ZERO = "average() crashes for no prices", "average() divides by zero for no prices"
TWO = found(claude=[issue(CRASHES, "a.py:1")], gpt=[issue(ZERO, "a.py:1")])


@pytest.mark.parametrize(
    ("proofs", "standing", "text"),
    [
        ([Proof(CRASHES, "claude", False)], FindingStatus.UNPROVEN, ZERO),
        ([Proof(ZERO, "gpt", False)], FindingStatus.UNPROVEN, CRASHES),
        ([Proof(CRASHES, "claude", False), Proof(ZERO, "gpt", True)], FindingStatus.REPRODUCED, ZERO),
        ([Proof(CRASHES, "claude", False), Proof(ZERO, "gpt", False)], FindingStatus.REFUTED, CRASHES),
        ([Proof(CRASHES, "claude", False), Proof("F1", "claude", False)], FindingStatus.REFUTED, CRASHES),
    ],
)
def test_a_proof_refutes_only_the_words_it_was_written_for(
    proofs: list[Proof], standing: FindingStatus, text: str
) -> None:
    (weighed,) = weigh(TWO, *proofs)
    assert weighed.standing is standing
    assert weighed.finding.text == text
    assert {CRASHES, ZERO} <= {*weighed.finding.in_full.replace("[high, a.py:1] ", "").split("\n")}


def test_a_reproduced_finding_is_dropped_when_its_proof_no_longer_holds() -> None:
    (before,) = weigh(TWO, Proof(CRASHES, "claude", True))
    after = ClaimsProven((Proof(CRASHES, "claude", False),), {}, "bubblewrap")
    assert weigh_findings_by_proof([before.finding], [after])[0].standing is FindingStatus.UNPROVEN, (
        "nobody ran anything for gpt's words"
    )
    assert (
        weigh_findings_by_proof([keep_deciding_proofs_of_finding(before)], [after])[0].standing is FindingStatus.REFUTED
    )


def test_a_review_rejects_exactly_when_a_finding_was_reproduced() -> None:
    shown = reviewed(weigh(FAULT, Proof("F1", "gpt", True)), (FAULT,), "bubblewrap")
    assert shown.outcome is Outcome.REJECTED
    assert shown.position == "Changes needed: 1 fault was reproduced."
    assert (
        decision_sentence(shown) == "One seat reviewed the code independently and found 1 fault: 1 reproduced. "
        "The programs of the seats were run in bubblewrap."
    )
    assert "Found by claude. A program of gpt reproduces the fault." in shown.text
    assert not notice_sentences(shown)
    refuted = reviewed(weigh(FAULT, Proof("F1", "gpt", False)), (FAULT,), "bubblewrap")
    assert refuted.outcome is Outcome.REACHED
    assert refuted.position == "No fault was reproduced."
    assert reviewed((), (found(claude=[]),), "").position == "No seat found a fault."


def test_unreadable_answers_never_make_a_clean_review() -> None:
    unread = Move("review/1-blind", "gpt", "Hm.", Verdict(parse=ParseStatus.FAILED))
    round = Round("review/1-blind", ("claude", "gpt"), (*found(claude=[]).moves, unread))
    decision = reviewed((), (round,), "")
    assert decision.position == decision.text == "claude found no fault; gpt did not answer."
    assert decision.counted == ("claude",)
    assert [absence.seat for absence in decision.missing] == ["gpt"]
    assert decision.degraded


def test_a_seat_missing_from_a_later_round_is_named() -> None:
    gone = Absence("gpt", Fault.of(FaultKind.TIMEOUT, "No complete answer within 5 s."))
    later = Round("review/2-examine", ("claude", "gpt"), (Move("review/2-examine", "claude", "So."),), (gone,))
    decision = reviewed(weigh(FAULT, Proof("F1", "claude", False)), (FAULT, later), "bubblewrap")
    assert notice_sentences(decision) == (
        "This seat did not answer in review/2-examine, the round that decides on unproven findings: "
        "gpt (No complete answer within 5 s).",
    )


def test_a_reproduced_finding_is_shown_with_its_proof() -> None:
    text = reviewed(weigh(FAULT, Proof("F1", "gpt", True, "# ```\nexit(0)")), (FAULT,), "bubblewrap").text
    assert text.endswith("  ````\n  # ```\n  exit(0)\n  ````")
    assert "exit(0)" not in reviewed(weigh(FAULT, Proof("F1", "gpt", False, "exit(0)")), (FAULT,), "x").text


def test_unproven_findings_are_named_above_the_text_with_their_seats() -> None:
    decision = reviewed(weigh(FAULT), (FAULT,), "bubblewrap")
    assert notice_sentences(decision) == ("No program confirmed or refuted these findings: F1.",)
    assert "Found by claude. No seat wrote a program that reproduces the fault." in decision.text


def test_a_finding_with_an_invalid_place_says_so_unless_another_seat_gives_the_place() -> None:
    here = {"a.py:99": "a.py has only 3 lines."}
    lost = weigh(found(claude=[issue("It crashes", "a.py:99")]), **here)
    assert "Its place does not exist: a.py has only 3 lines." in reviewed(lost, (FAULT,), "x").text
    known = weigh(found(claude=[issue("It crashes", "a.py:99")], gpt=[issue("It crashes", "a.py:1")]), **here)
    assert known[0].nowhere == ""
