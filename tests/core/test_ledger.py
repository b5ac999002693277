"""The memory entries of a session, and when a proposal repeats a rejected one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.decide import decrees
from roundtable.core.decide.decrees import (
    decision_after_decree_answer,
    decrees_against_decision,
    find_decrees_repeated_by_position,
    is_decree_answered,
    is_proposal_same_as_decree,
)
from roundtable.core.events import (
    DecisionMade,
    EntryWritten,
    Event,
    GateAnswered,
    GateOpened,
    MoveMade,
    Recorded,
    RoundOpened,
    SessionOpened,
)
from roundtable.core.ledger import Entry, EntryKind, EntryState, PredictionRecord
from roundtable.core.reasons import Said
from roundtable.core.session import Session
from roundtable.core.text.wording import content_words_of_text
from roundtable.core.values import (
    Charter,
    Decision,
    Dissent,
    Expect,
    Gate,
    Move,
    Outcome,
    Prompt,
    Proposal,
    RecalledEntry,
    Seat,
    Turns,
)
from roundtable.core.verdict import Issue, Verdict
from roundtable.report.memory_entries import build_session_memory_entries
from roundtable.report.reasons import decision_sentence, notice_sentences

SESSION = "01900000-0000-7000-8000-0000001a2b3c"
AT = "2026-11-15T10:00:00.000000Z"


def session_with(*events: Event, **charter: Any) -> Session:
    opened = SessionOpened(
        Charter(
            charter.pop("question", "REST or GraphQL?"),
            (Seat("claude", ("x",)), Seat("gpt", ("x",))),
            charter.pop("meeting", "council"),
            1,
            workspace="/w",
            slug="2026-11-15-rest",
            **charter,
        )
    )
    facts = enumerate((opened, *events), 1)
    return Session.fold(SESSION, [Recorded(seq, AT, SESSION, event) for seq, event in facts])


def decided(outcome: Outcome = Outcome.REACHED, **more: Any) -> DecisionMade:
    fields: dict[str, Any] = {"how": (Said("All agree."),), "position": "Use REST", **more}
    return DecisionMade(Decision(outcome, **fields))


def answered(gate: str, option: str, text: str = "", kind: str = "") -> tuple[Event, Event]:
    opened = GateOpened(Gate(gate, "What now?", (option, "other"), "other", kind=kind))
    return opened, GateAnswered(gate, option, text)


def round_of(name: str, **said: Verdict) -> tuple[Event, ...]:
    seats = tuple(said)
    opened = RoundOpened(name, seats, seats, Turns(), Expect(), Prompt("blind"), "sha256:0")
    moves = [MoveMade(name, seat, f"{name}/{seat}#1", "Because.", "x", verdict) for seat, verdict in said.items()]
    return opened, *moves


def brief(entries: tuple[Entry, ...]) -> list[tuple[str, str, str]]:
    return [(entry.id, entry.state, entry.text) for entry in entries]


# --- what is remembered ---------------------------------------------------------------------------


@pytest.mark.feature("S4.102")
def test_a_decision_is_remembered_with_its_question_its_reason_and_its_outcome() -> None:
    (entry,) = build_session_memory_entries(session_with(decided()))
    assert entry == Entry(
        "D-1a2b3c",
        EntryKind.DECISION,
        "Use REST",
        why="All agree.",
        state="reached",
        question="REST or GraphQL?",
        session=SESSION,
        slug="2026-11-15-rest",
        workspace="/w",
        at=AT,
    )
    assert entry.is_relevant


def test_a_deadlock_is_remembered_and_is_not_binding() -> None:
    (entry,) = build_session_memory_entries(session_with(decided(Outcome.DEADLOCK, position="")))
    assert (entry.state, entry.text, entry.is_relevant) == ("deadlock", "No decision (deadlock).", False)


@pytest.mark.parametrize("outcome", [Outcome.CANCELLED, Outcome.FAILED, Outcome.INSUFFICIENT])
def test_a_cancelled_or_failed_meeting_leaves_no_entry(outcome: Outcome) -> None:
    assert build_session_memory_entries(session_with(decided(outcome))) == ()
    assert build_session_memory_entries(session_with()) == ()


def test_a_child_meeting_leaves_no_entry_but_a_branch_does() -> None:
    assert build_session_memory_entries(session_with(decided(), parent="another")) == ()
    assert len(build_session_memory_entries(session_with(decided(), parent="another", branched_at=3))) == 1


def test_a_meeting_without_agreement_is_remembered_with_its_proposals() -> None:
    proposals = (Proposal("A", "Use REST", ("ada",)), Proposal("B", "Use GraphQL", ("bob",)))
    decision = decided(Outcome.DEADLOCK, position="", text="ada recommends:\n- ada: “Use REST”", proposals=proposals)
    (entry,) = build_session_memory_entries(session_with(decision, meeting="second-opinion"))
    assert (entry.state, entry.text) == ("deadlock", "No decision: Use REST | Use GraphQL")


def test_a_persons_rejection_is_a_decree_with_their_reason() -> None:
    entries = build_session_memory_entries(
        session_with(*answered("decide", "reject", "Nobody can run it."), decided(Outcome.REJECTED))
    )
    assert brief(entries) == [("D-1a2b3c", "overruled", "Use REST"), ("R-1a2b3c", "standing", "Use REST")]
    assert [entry.why for entry in entries] == ["All agree.", "Nobody can run it."]
    assert [entry.is_relevant for entry in entries] == [False, True]
    assert len(build_session_memory_entries(session_with(*answered("decide", "later"), decided()))) == 1
    _, unexplained = build_session_memory_entries(
        session_with(*answered("decide", "reject"), decided(Outcome.REJECTED))
    )
    assert unexplained.why == "no reason given"


def test_a_decision_rejected_by_the_seats_is_remembered_with_its_proposals() -> None:
    proposals = (Proposal("gpt", "Use GraphQL", ("gpt",)), Proposal("grok", "Use tRPC", ("grok",)))
    (entry,) = build_session_memory_entries(session_with(decided(Outcome.REJECTED, position="", proposals=proposals)))
    assert (entry.text, entry.state) == ("Use GraphQL; Use tRPC", "rejected")


def test_a_rejected_yes_or_no_answer_is_remembered_with_its_question() -> None:
    gates = answered("decide-2", "reject", "No.", kind="decide")
    _, decree = build_session_memory_entries(
        session_with(*gates, decided(position="Yes."), question="Should we use Redis?")
    )
    assert decree.text == "Should we use Redis? Yes."


@pytest.mark.feature("S3.9")
@pytest.mark.parametrize(("option", "state"), [("fix", "fixing"), ("log", "logged")])
def test_a_code_red_leaves_an_unnumbered_error(option: str, state: str) -> None:
    decision = decided(position="stale auth token", winner="stale-auth-token", text="It expires.\nMore.")
    (entry,) = build_session_memory_entries(session_with(*answered("outcome", option), decision, meeting="code-red"))
    assert (entry.id, entry.kind, entry.text, entry.why) == ("", EntryKind.ERROR, "stale auth token", "It expires.")
    assert (entry.state, entry.is_relevant) == (state, True)


@pytest.mark.feature("S3.61")
def test_an_error_that_was_only_reported_is_not_logged() -> None:
    assert (
        build_session_memory_entries(session_with(*answered("outcome", "report"), decided(), meeting="code-red")) == ()
    )


def test_an_undiagnosed_error_is_logged_with_its_symptom() -> None:
    decision = decided(Outcome.DEADLOCK, position="", how=(Said("No two doctors agree."),))
    (entry,) = build_session_memory_entries(session_with(decision, meeting="code-red", question="login crashes"))
    assert (entry.text, entry.why, entry.state) == ("Not diagnosed: login crashes", "No two doctors agree.", "logged")


def test_a_dissenters_prediction_or_blocking_issue_is_remembered_but_not_its_position() -> None:
    dissent = (
        Dissent("claude", "Use SOAP", "It is typed."),
        Dissent("gpt", "Use GraphQL", "It will hurt.", "By May three clients ask for batching."),
        Dissent("grok", "Use tRPC", "Types!"),
    )
    issues = (Issue("The docs are thin."), Issue("p99 on phones will suffer within two months.", blocking=True))
    first = round_of("first", claude=Verdict(issues=(Issue("Settled since."),)), grok=Verdict())
    last = round_of("last", claude=Verdict(), grok=Verdict(issues=issues))
    _, one, two = build_session_memory_entries(session_with(*first, *last, decided(dissent=dissent)))
    assert brief((one, two)) == [
        ("P-1a2b3c", "open", "By May three clients ask for batching."),
        ("P-1a2b3c-2", "open", "p99 on phones will suffer within two months."),
    ]
    assert (one.seat, one.why) == ("gpt", "Predicted against decision D-1a2b3c: Use REST")


def test_an_entry_written_by_a_person_replaces_the_derived_entry() -> None:
    (folded,) = build_session_memory_entries(session_with(decided()))
    patched = Entry(folded.id, folded.kind, "Use REST", state=EntryState.FAILED)
    extra = Entry("R-9", EntryKind.DECREE, "Use SOAP")
    assert build_session_memory_entries(session_with(decided(), EntryWritten(patched), EntryWritten(extra))) == (
        patched,
        extra,
    )


def test_a_seats_prediction_record_counts_only_settled_predictions() -> None:
    states = {"gpt": ["right", "wrong", "open"], "grok": ["right", "right"], "claude": ["wrong"]}
    entries = [
        Entry(f"P-{seat}-{number}", EntryKind.PREDICTION, "x", state=state, seat=seat)
        for seat, all in states.items()
        for number, state in enumerate(all)
    ]
    assert PredictionRecord.of_seats([*entries, Entry("D-1", EntryKind.DECISION, "x")]) == [
        PredictionRecord("grok", 2, 2, 0),
        PredictionRecord("gpt", 1, 2, 1),
        PredictionRecord("claude", 0, 1, 0),
    ]


# --- repeating -------------------------------------------------------------------------------------

SAME = [
    ("Use GraphQL", "Use GraphQL for the public API"),
    ("Use GraphQL", "Adopt **GraphQL**."),
    ("A Postgres table as a job queue", "Queue jobs in a PostgreSQL table"),
    ("Delete old indexes", "Old index: delete"),
    ("使用GraphQL接口", "采用GraphQL接口"),
    ("Should we use Redis? Yes", "Should we use Redis? yes."),
]
OTHERS = [
    ("Use GraphQL", "Use REST"),
    ("Use GraphQL", "Use REST, not GraphQL"),
    ("Use GraphQL", "Replace GraphQL with REST"),
    ("Use GraphQL", "REST instead of GraphQL"),
    ("Store user sessions in a Redis cluster", "Store user sessions in a Postgres cluster"),
    ("A timeout of 30s", "A timeout of 60s"),
    ("Should we use Redis? Yes", "Should we use Redis? No"),
    ("使用GraphQL接口", "不要使用GraphQL接口"),
    ("", "Use GraphQL"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_proposal_in_other_words_is_the_same_proposal(one: str, other: str) -> None:
    assert is_proposal_same_as_decree(one, other)
    assert is_proposal_same_as_decree(other, one)


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_a_different_proposal_is_recognized_as_different(one: str, other: str) -> None:
    assert not is_proposal_same_as_decree(one, other)
    assert not is_proposal_same_as_decree(other, one)


@pytest.mark.parametrize(
    "proposal",
    [
        "Use GraphQL instead of REST",
        "GraphQL, not REST",
        "GraphQL over REST",
        "GraphQL (never REST)",
        "Adopt GraphQL for the public mobile API gateway",
        "Replace REST with GraphQL",
        "Instead of REST use GraphQL",
        "Migrate from REST to GraphQL",
        "Move over to GraphQL",
        "Not only REST but GraphQL",
        "Put a cache in front of the GraphQL resolvers and warm it every night",
        "非常建议使用GraphQL",
        "按类别使用GraphQL",
        "不用REST，用GraphQL",
        "使用GraphQL而不是REST",
    ],
)
def test_rewording_does_not_get_a_rejected_proposal_past_its_decree(proposal: str) -> None:
    assert is_proposal_same_as_decree(proposal, "Use GraphQL")
    assert not is_proposal_same_as_decree(proposal, "Use REST") or proposal == "Not only REST but GraphQL"


@pytest.mark.parametrize(
    "proposal",
    [
        "Never GraphQL",
        "Don't use GraphQL",
        "REST rather than GraphQL",
        "REST over GraphQL",
        "Instead of GraphQL use REST",
        "Migrate from GraphQL to REST",
        "Should we use GraphQL? No, use REST.",
        "别使用GraphQL",
        "没有必要使用GraphQL",
        "使用REST而非GraphQL",
    ],
)
def test_arguing_against_a_rejected_proposal_does_not_repeat_it(proposal: str) -> None:
    assert not is_proposal_same_as_decree(proposal, "Use GraphQL")


def test_a_proposal_that_shares_one_word_with_a_long_decree_is_different() -> None:
    assert not is_proposal_same_as_decree("Use a cache", "Keep user sessions in a Redis cache across three regions")


@pytest.mark.parametrize("text", ["? no", "not to ", ".", "not a to ", " - ", "n't"])
def test_odd_texts_can_be_compared(text: str) -> None:
    assert is_proposal_same_as_decree(text * 5000 + "GraphQL", text * 5000 + "GraphQL")


@given(st.text(max_size=60))
def test_every_text_with_words_is_the_same_proposal_as_itself(text: str) -> None:
    assert is_proposal_same_as_decree(text, text) == bool(content_words_of_text(text))


def test_only_decrees_and_failures_bind_later_meetings() -> None:
    entries = [RecalledEntry("D-1", "decision", "Use REST"), RecalledEntry("CR-001", "error", "Use REST")]
    assert find_decrees_repeated_by_position("Which?", "Use REST", entries) == []
    failed = RecalledEntry("F-1", "failure", "Use REST")
    assert find_decrees_repeated_by_position("Which?", "Use REST", [*entries, failed]) == [failed]


DECREE = RecalledEntry("R-1a2b3c", "decree", "Use GraphQL", "Nobody can run it.")
CHARTER = Charter("REST or GraphQL?", (), "council", 1, recalled=(DECREE,))
WINNER = Decision(Outcome.REACHED, (Said("All agree."),), position="Use GraphQL", text="It is typed.", author="gpt")


@pytest.mark.parametrize(
    ("question", "stopped"),
    [
        ("REST or GraphQL for the public API?", True),
        ("Which API do we offer to the public?", True),
        ("GraphQL?", True),
        ("x?", False),
        ("How do the two services of billing talk?", False),
    ],
)
def test_a_failed_answer_is_only_held_against_related_questions(question: str, stopped: bool) -> None:
    failed = RecalledEntry("F-1", "failure", "GraphQL", "The cache went stale.", "REST or GraphQL for the public API?")
    charter = Charter(question, (), "council", 1, recalled=(failed,))
    assert decrees_against_decision(charter, WINNER) == ([failed] if stopped else [])


def test_a_winner_that_answers_the_decree_may_win() -> None:
    move = Move("r", "gpt", "As to r-1a2b3c: a vendor runs it for us.")
    elsewhere = Move("r", "claude", "As to R-1a2b3c: a vendor runs it for us.")
    assert decrees_against_decision(CHARTER, WINNER) == [DECREE]
    assert not decrees.is_decree_answered_by_decision(DECREE, WINNER, [])
    assert not decrees.is_decree_answered_by_decision(DECREE, WINNER, [elsewhere]), (
        "another seat's words are not the winner's"
    )
    assert decrees.is_decree_answered_by_decision(DECREE, WINNER, [move])


def test_each_proposer_of_the_winner_may_answer_the_decree_if_the_text_has_no_author() -> None:
    shared = (Proposal("A", "Use GraphQL", ("gpt", "claude")), Proposal("B", "Use REST", ("grok",)))
    winner = Decision(Outcome.REACHED, (Said("All agree."),), winner="A", position="Use GraphQL", proposals=shared)
    words = "A vendor runs it for us, which answers R-1a2b3c."
    assert decrees.is_decree_answered_by_decision(DECREE, winner, [Move("r", "claude", words)])
    assert not decrees.is_decree_answered_by_decision(DECREE, winner, [Move("r", "grok", words)])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("A vendor runs it for us, which answers R-1a2b3c.", True),
        ("R-1a2b3c 的反对意见已经解决", True),
        ("R-1a2b3c", False),
        ("I ignore R-1a2b3c", False),
        ("Use GraphQL (R-1a2b3c).\nIt is typed and everybody knows it.", False),
        ("A vendor runs it for us, which answers R-1a2b3c-2.", False),
        ("A vendor runs it for us, which answers XR-1a2b3c.", False),
    ],
)
def test_an_answer_to_a_decree_names_it_and_gives_a_reason(text: str, answer: bool) -> None:
    assert is_decree_answered(DECREE, (text,)) is answer


def test_a_decree_that_the_seats_did_not_see_also_binds() -> None:
    assert decrees_against_decision(Charter("REST or GraphQL?", (), "council", 1, untold=(DECREE,)), WINNER) == [DECREE]


def test_an_upheld_decree_leaves_no_decision_and_an_allowed_one_a_notice() -> None:
    upheld, allowed = (
        decision_after_decree_answer(DECREE, WINNER, "uphold"),
        decision_after_decree_answer(DECREE, WINNER, "allow"),
    )
    assert (upheld.outcome, upheld.winner, upheld.position, upheld.text) == (Outcome.DEADLOCK, "", "", "")
    assert "R-1a2b3c" in decision_sentence(upheld)
    assert "Nobody can run it." in decision_sentence(upheld)
    chinese = msgspec.structs.replace(DECREE, why="没人会维护。")
    assert decision_sentence(decision_after_decree_answer(chinese, WINNER, "uphold")).endswith("没人会维护。")
    assert (allowed.outcome, allowed.text) == (Outcome.REACHED, "It is typed.")
    assert "R-1a2b3c" in notice_sentences(allowed)[0]
