"""Proofs of claims run between the rounds in any meeting; their results are shown to all and settle the claims."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Places, Roundtable
from roundtable.core.decide.claims import decide_claims_of_round_by_proofs
from roundtable.core.decide.points import decide_debate_points
from roundtable.core.decide.positions import is_position_change_justified
from roundtable.core.effects import ClaimsProven, Proof
from roundtable.core.values import Move, Outcome, Round
from roundtable.core.verdict import Claim, Evidence, Issue, Stance, Verdict
from roundtable.engine.replay import NotOnRecord, replay_recorded_asks
from roundtable.meetings import find_meeting
from roundtable.report.transcript import render_transcript
from tests.core.cases import verdict
from tests.doors.scripted_seats import blind_answer
from tests.repository import repository, sandbox
from tests.stories.desk_meeting import DeskMeeting, knight_turn
from tests.stories.kill_and_resume import kill_after_every_fact
from tests.stories.session_harness import SessionHarness

NAMED: dict[str, Any] = {"files": ("cache.py",)}
CACHE = "def get(key, store={}):\n    return store.setdefault(key, key.upper())\n"
OBJECTION = "The cache forgets its keys"
FORGETS = "import sys, cache\nsys.exit(0 if cache.get('a') != 'A' or cache.get('a') != 'A' else 1)"
UPPER = "import sys, cache\nsys.exit(0 if cache.get('b') == 'B' else 1)"


def claim(text: str, proof: str, language: str = "python") -> dict[str, str]:
    return {"claim": text, "proof": proof, "language": language}


def objecting(score: int = 9, **options: Any) -> dict[str, str]:
    """Return the turns of a knight that sees a blocking issue."""
    return knight_turn(score, pending_issues=[{"text": OBJECTION, "blocking": True}], **options)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return repository(tmp_path / "work", {"cache.py": CACHE})


@pytest.fixture
async def desk(work: Path, tmp_path: Path) -> AsyncIterator[Roundtable]:
    home = tmp_path / "home"
    async with await Roundtable.open(work, Places(home, home)) as opened:
        yield opened


async def proven(desk: Roundtable, meeting: DeskMeeting, round: str) -> ClaimsProven:
    """Return the results of the proofs of a round."""
    result = (await desk.sessions.get(meeting.session)).results[f"{round}/proofs"]
    assert isinstance(result, ClaimsProven)
    return result


async def test_an_objection_refuted_by_running_a_proof_no_longer_blocks(desk: Roundtable) -> None:
    await sandbox()
    meeting = DeskMeeting(
        desk,
        claude=[objecting(), objecting()],
        gpt=[knight_turn(9), knight_turn(9, claims=[claim(OBJECTION, FORGETS)])],
    )
    decision = await meeting.hold("knights", **NAMED)
    assert decision.outcome is Outcome.REACHED
    assert f"refuted by running it: {OBJECTION}" in decision.basis
    assert [proof.held for proof in (await proven(desk, meeting, "knights/2-respond")).proofs] == [False]
    assert OBJECTION in render_transcript(await desk.sessions.get(meeting.session))


async def test_an_objection_without_a_proof_keeps_blocking(desk: Roundtable) -> None:
    meeting = DeskMeeting(desk, claude=[objecting()] * 5, gpt=[knight_turn(9)] * 5)
    decision = await meeting.hold("knights", **NAMED)
    assert decision.outcome is Outcome.DEADLOCK


async def test_repeating_a_refuted_objection_does_not_restore_it(desk: Roundtable) -> None:
    await sandbox()
    meeting = DeskMeeting(
        desk,
        claude=[objecting(8), objecting(9)],
        gpt=[knight_turn(9, claims=[claim(OBJECTION, FORGETS)]), knight_turn(9)],
    )
    assert (await meeting.hold("knights", **NAMED)).outcome is Outcome.REACHED
    for seat in ("claude", "gpt"):
        prompt = meeting.prompt("knights/2-respond", seat)
        assert f"Claimed: {OBJECTION}\nThe program refuted this claim (exit code 1).\n```\n{FORGETS}\n```" in prompt


async def test_a_point_with_a_confirmed_claim_is_agreed_without_discussion(desk: Roundtable) -> None:
    await sandbox()
    point = "Values are stored in capitals"
    meeting = DeskMeeting(
        desk,
        claude=[knight_turn(7, agrees_with=[point], claims=[claim(point, UPPER)]), knight_turn(9)],
        gpt=[knight_turn(8), knight_turn(9)],
    )
    decision = await meeting.hold("knights", **NAMED)
    assert f'Already agreed; do not argue these again:\n<answer from="agreed points">\n- P1: {point}' in meeting.prompt(
        "knights/2-respond", "gpt"
    )
    assert f"proven by running it: {point}" in decision.basis


async def test_in_a_debate_a_seat_can_attach_a_proof_to_its_reply(desk: Roundtable) -> None:
    await sandbox()
    objection = {"round": "*", "text": f"No.\n\nAGREE: claude\nOBJECT: {OBJECTION}"}
    proof = f"It does not.\n\nAGREE: claude\nPROVE: {OBJECTION}\n```python\n{FORGETS}\n```"
    seed = {"round": "*seed", "text": blind_answer("Keep the cache")}
    plan = {"round": "*plan", "text": "1. Keep it."}
    meeting = DeskMeeting(
        desk,
        claude=[seed, plan, {"round": "*", "text": proof}],
        gpt=[{"round": "*seed", "text": blind_answer("Drop the cache")}, objection],
    )
    decision = await meeting.hold("debate", "Keep the cache?", **NAMED)
    assert decision.outcome is Outcome.REACHED
    assert decision.winner == "claude"
    assert f"refuted by running it: {OBJECTION}" in decision.basis


async def test_a_root_cause_refuted_by_running_a_proof_is_dropped_from_the_diagnoses(desk: Roundtable) -> None:
    await sandbox()

    def doctor(key: str, **options: Any) -> dict[str, str]:
        block: dict[str, Any] = {
            "suspects": ["x"],
            "confidence_score": 9,
            "root_cause_key": key,
            "evidence": [],
            "file_requests": [],
        }
        return {"text": f"I see.\n```json\n{json.dumps({**block, **options})}\n```"}

    lost = doctor("lost-keys", claims=[claim("lost keys", FORGETS)])
    meeting = DeskMeeting(
        desk,
        claude=[doctor("lost-keys"), lost, doctor("slow-disk"), doctor("slow-disk")],
        gpt=[doctor("lost-keys"), doctor("lost-keys"), doctor("slow-disk"), doctor("slow-disk")],
    )
    decision = await meeting.hold("code-red", **NAMED)
    assert (decision.outcome, decision.winner) == (Outcome.REACHED, "slow-disk")
    assert "code-red/3-converge" in (await desk.sessions.get(meeting.session)).rounds


async def test_in_a_council_a_confirmed_proof_is_a_valid_reason_to_switch(desk: Roundtable) -> None:
    await sandbox()

    def stand(proposal: str, **options: Any) -> dict[str, str]:
        block: dict[str, Any] = {
            "stand": proposal,
            "position": "",
            "error": "",
            "evidence": [],
            "confidence": 8,
            **options,
        }
        return {"round": "*reconsider", "text": f"So.\n```json\n{json.dumps(block)}\n```"}

    options = ("Keep it", "Drop it")
    seats = {
        "claude": [{"round": "*blind", "text": blind_answer("Keep it")}, stand("A")],
        "gpt": [{"round": "*blind", "text": blind_answer("Drop it")}, stand("A", claims=[claim("It stores", UPPER)])],
    }
    decision = await DeskMeeting(desk, **seats).hold("council", options=options, **NAMED)
    assert (decision.outcome, decision.conformity) == (Outcome.REACHED, ())
    assert "proven by running it: It stores" in decision.basis
    seats["gpt"][1] = stand("A", claims=[claim("It stores", "raise ValueError")])
    assert (await DeskMeeting(desk, **seats).hold("council", options=options, **NAMED)).conformity == ("gpt",)


async def test_without_a_sandbox_the_meeting_continues_and_says_why_no_proof_ran(
    desk: Roundtable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    meeting = DeskMeeting(
        desk,
        claude=[knight_turn(8, claims=[claim("It stores", UPPER)]), knight_turn(9)],
        gpt=[knight_turn(8), knight_turn(9)],
    )
    decision = await meeting.hold("knights", **NAMED)
    assert decision.outcome is Outcome.REACHED
    assert "Claimed: It stores\nThe program could not be run: " in meeting.prompt("knights/2-respond", "gpt")
    assert not any("running it" in basi for basi in decision.basis)


async def test_proofs_run_only_in_supported_languages_and_a_crash_refutes_nothing(desk: Roundtable) -> None:
    await sandbox()
    claims = [
        claim("In bash", "exit 1", "bash"),
        claim("It breaks", "assert False"),
        claim("It never says", "print('so')"),
    ]
    meeting = DeskMeeting(
        desk, claude=[knight_turn(8, claims=claims), knight_turn(9)], gpt=[knight_turn(8), knight_turn(9)]
    )
    await meeting.hold("knights", **NAMED)
    proofs = (await proven(desk, meeting, "knights/1-speak")).proofs
    assert [result.held for result in proofs] == [None, None, None]
    assert proofs[0].why == "Programs in bash are not supported. Supported languages: python, javascript."
    assert proofs[1].why == "The program ended with exit code 2, which neither proves nor refutes the claim."


async def test_a_recount_without_a_seat_ignores_the_results_of_its_proofs(desk: Roundtable) -> None:
    await sandbox()
    told = knight_turn(9, claims=[claim(OBJECTION, FORGETS)])
    meeting = DeskMeeting(
        desk, claude=[objecting(), objecting()], gpt=[told, told], gemini=[knight_turn(9), knight_turn(9)]
    )
    assert (await meeting.hold("knights", **NAMED)).outcome is Outcome.REACHED
    session = await desk.sessions.get(meeting.session)
    assert (await replay_recorded_asks(session, find_meeting("knights").hold, ())).outcome is Outcome.REACHED
    with pytest.raises(NotOnRecord, match=r"the round knights/[23]-respond"):
        await replay_recorded_asks(session, find_meeting("knights").hold, ("gpt",))


async def test_a_meeting_with_proofs_killed_after_any_fact_runs_no_proof_twice(work: Path) -> None:
    await sandbox()
    script = {
        "seats": {
            "claude": {"turns": [objecting(8), objecting(9)]},
            "gpt": {"turns": [knight_turn(9, claims=[claim(OBJECTION, FORGETS)]), knight_turn(9)]},
        }
    }
    decision = await kill_after_every_fact(
        lambda store: SessionHarness(script, store, meeting="knights", workspace=work), seats=("claude", "gpt")
    )
    assert decision.outcome is Outcome.REACHED


# --- the rule ------------------------------------------------------------------------------------


def said(*moves: Move) -> Round:
    return Round("knights/1", tuple(move.seat for move in moves), moves)


def test_contradicting_proofs_leave_a_claim_open() -> None:
    objection = Move("knights/1", "claude", "", Verdict(issues=(Issue("It leaks", blocking=True),)))
    round = said(objection, Move("knights/1", "gpt", ""))
    refuted, shown = Proof("it leaks.", "gpt", False), Proof("It leaks", "claude", True)
    assert decide_claims_of_round_by_proofs(round, (refuted,)).moves[0].verdict.issues == ()
    assert decide_claims_of_round_by_proofs(round, (refuted, shown)).moves[0].verdict.issues == objection.verdict.issues
    assert (
        decide_claims_of_round_by_proofs(round, (Proof("It leaks", "gpt", None),)).moves[0].verdict.issues
        == objection.verdict.issues
    )


def test_the_proof_of_a_missing_seat_settles_nothing() -> None:
    objection = Move("knights/1", "claude", "", Verdict(issues=(Issue("It leaks", blocking=True),)))
    assert decide_claims_of_round_by_proofs(said(objection), (Proof("It leaks", "gpt", False),)) == said(objection)


def test_proofs_never_change_a_seats_score() -> None:
    move = Move("knights/1", "claude", "", Verdict(Stance.OPPOSE, score=0.4, issues=(Issue("It leaks"),)))
    rest = (
        decide_claims_of_round_by_proofs(said(move, Move("knights/1", "gpt", "")), (Proof("It leaks", "gpt", False),))
        .moves[0]
        .verdict
    )
    assert (rest.stance, rest.score, rest.issues) == (Stance.OPPOSE, 0.4, ())


def test_a_claim_settles_a_point_only_by_its_id_or_its_exact_text() -> None:
    stated = Verdict(points=("Keep JWT", "Rotate keys"))
    for text, agreed in (("P2", ("P2: Rotate keys",)), ("keep jwt.", ("P1: Keep JWT",)), ("Else", ())):
        move = Move("knights/1", "claude", "", stated)
        proof = Move("knights/1", "gpt", "", Verdict(claims=(Claim(text, "exit(0)", held=True),)))
        assert decide_debate_points([said(move, proof)]).settled() == agreed
        denied = Move("knights/1", "gpt", "", Verdict(claims=(Claim(text, "exit(1)", held=False),)))
        assert decide_debate_points([said(move, denied)]).settled() == ()


def test_a_seat_cannot_declare_its_own_claim_confirmed() -> None:
    block = {"consensus_score": 9, "pending_issues": [], "claims": [{**claim("x y", "exit(0)"), "held": True}]}
    assert verdict("score-json", json.dumps(block)).claims == (Claim("x y", "exit(0)"),)


def test_an_unconfirmed_claim_is_no_valid_reason_to_switch() -> None:
    for meeting, reason in ((True, True), (False, False), (None, False)):
        flip = Move("c/2", "gpt", "", Verdict(claims=(Claim("It stores", "exit(0)", held=meeting),)))
        assert is_position_change_justified(flip) is reason
    assert is_position_change_justified(Move("c/2", "gpt", "", Verdict(evidence=(Evidence("It was measured"),))))
