"""Custom meetings from a data file run under every rule and resume after the file has changed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.events import SessionOpened
from roundtable.core.values import Decision, Limits, Outcome, Seat
from roundtable.report.reasons import decision_sentence
from tests.stories.kill_and_resume import kill_after_every_fact
from tests.stories.session_harness import SESSION, CrashingStore, SessionHarness, position_reply

PAGE = Path(__file__).parents[2] / "docs" / "meetings.md"
(EXAMPLE,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S)
NAMES = ("claude", "gpt", "gemini")


def recipe_text(*told: tuple[str, str], rule: str) -> str:
    """Return a meeting file with these rounds, each a purpose and its codec."""
    same = 'turns = { visibility = "previous_rounds" }\nprompt = "Over to you. $candidates"'
    parts = [f'[[rounds]]\npurpose = "{purpose}"\ncodec = "{codec}"\n{same}\n' for purpose, codec in told]
    return 'summary = "A test."\n' + "".join(parts) + f"[rule]\n{rule}\n"


class RecipeHarness(SessionHarness):
    """A harness for custom meeting files; the desk reads the rules from the charter."""

    def __init__(self, home: Path, recipe: str, script: dict[str, Any], store: CrashingStore | None = None) -> None:
        super().__init__(script, store)
        self._home = home
        (home / "meetings").mkdir(parents=True, exist_ok=True)
        (home / "meetings" / "board.toml").write_text(recipe)

    async def open(self, **options: Any) -> None:
        """Record the charter that the desk drafts for the custom meeting."""
        seats = tuple(Seat(name, ("script:test",)) for name in NAMES)
        limits = Limits(retries=0, seat_timeout=5, round_deadline=5)
        agenda = Agenda("REST or GraphQL?", seats, "board", limits=limits, headless=True, **options)
        places = Places(self._home, self._home)
        async with await Roundtable.open(self._home, places, store=self.store, voices=self.voices) as desk:
            charter, texts = await desk.meetings.draft(agenda)
        for text in texts:
            await self.store.keep(text)
        await self.store.append(SESSION, SessionOpened(msgspec.structs.replace(charter, seed=7)))

    async def hold(self, desk: Roundtable) -> Decision:
        """Run the meeting that the recorded charter describes."""
        return await desk.meetings.run(SESSION)


def reply_with_json(block: dict[str, Any], text: str = "Because.") -> str:
    return f"{text}\n\n```json\n{json.dumps(block)}\n```"


def score_reply(value: int, **options: Any) -> str:
    return reply_with_json({"consensus_score": value, "pending_issues": [], **options}, f"A {value}.")


def seats_script(**seats: list[str]) -> dict[str, Any]:
    return {"seats": {name: {"turns": [{"text": turn} for turn in turns]} for name, turns in seats.items()}}


async def hold_recipe(
    home: Path, recipe: str, script: dict[str, Any], **options: Any
) -> tuple[RecipeHarness, Decision]:
    harness = RecipeHarness(home, recipe, script)
    await harness.open(**options)
    return harness, await harness.run()


REVIEWED = seats_script(
    claude=[position_reply("Two services"), score_reply(7, agrees_with=["keep it small"]), score_reply(8)],
    gpt=[position_reply("One service"), score_reply(6, agrees_with=["keep it  small"]), score_reply(9)],
    gemini=[position_reply("No service"), score_reply(8, agrees_with=["keep it  small"]), score_reply(8)],
)


async def test_the_example_meeting_in_the_docs_runs_as_described(tmp_path: Path) -> None:
    harness, decision = await hold_recipe(tmp_path, EXAMPLE, REVIEWED)
    session = await harness.session()
    assert list(session.rounds) == ["board/1-sketch", "board/2-review", "board/3-review"]
    assert (decision.outcome, decision.author, decision.text) == (Outcome.REACHED, "gpt", "A 9.")
    assert session.answers["sketched"].option == "continue"
    assert decision.next_step == "", "what was answered on the way is no next step"
    first, last = harness.voices.calls[0].messages[-1].text, harness.voices.calls[-1].messages[-1].text
    assert "Sketch a design, " in first
    head = 'Already agreed; do not argue these again:\n<answer from="agreed points">\n- P1: keep it small'
    assert last.startswith(head)


async def test_a_custom_meeting_file_is_listed_and_opened(tmp_path: Path) -> None:
    places = Places(tmp_path / "home", tmp_path / "home")
    (tmp_path / "home" / "meetings").mkdir(parents=True)
    file = tmp_path / "home" / "meetings" / "design-review.toml"
    file.write_text(EXAMPLE)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "table.json").write_bytes(msgspec.json.encode(REVIEWED))
    seats = tuple(Seat(name, ("script:table.json",)) for name in NAMES)
    async with await Roundtable.open(tmp_path / "work", places) as desk:
        session = await desk.meetings.open(Agenda("How?", seats, meeting="design-review", headless=True))
        file.write_text("no longer a meeting at all")
        decision = await desk.meetings.run(session)
        assert decision.outcome is Outcome.REACHED
        assert (await desk.sessions.get(session)).charter.limits.seat_timeout == 180


async def test_the_gate_answer_stop_ends_a_custom_meeting_without_a_decision(tmp_path: Path) -> None:
    harness, decision = await hold_recipe(tmp_path, EXAMPLE, REVIEWED, answers={"sketched": "stop"})
    assert list((await harness.session()).rounds) == ["board/1-sketch"]
    assert decision.outcome is Outcome.INSUFFICIENT
    assert decision_sentence(decision) == "The meeting was stopped before the deciding round."


async def test_the_answer_to_the_last_gate_of_a_custom_meeting_is_its_next_step(tmp_path: Path) -> None:
    gate = '[[gates]]\nid = "then"\nafter = "rate"\nquestion = "?"\noptions = ["apply", "later"]\ndefault = "later"\n'
    recipe = recipe_text(("rate", "score-json"), rule='name = "score_threshold"') + gate
    script = seats_script(claude=[score_reply(9)], gpt=[score_reply(9)], gemini=[score_reply(9)])
    assert (await hold_recipe(tmp_path, recipe, script))[1].next_step == "later"
    assert (await hold_recipe(tmp_path, recipe, script, answers={"then": "apply"}))[1].next_step == "apply"


RANKED = recipe_text(("pitch", "position"), ("ballot", "ranked-ballot"), rule='name = "ranked"')


async def test_a_custom_meeting_can_put_pitches_to_a_ranked_ballot(tmp_path: Path) -> None:
    ballot = reply_with_json({"ranked_choices": ["A", "B", "C", "no-change"]})
    script = seats_script(
        claude=[position_reply("X"), ballot],
        gpt=[position_reply("Y", text="Y it is."), ballot],
        gemini=[position_reply("Z"), ballot],
    )
    harness, decision = await hold_recipe(tmp_path, RANKED, script)
    assert (decision.outcome, decision.position, decision.text) == (Outcome.REACHED, "Y", "Y it is.")
    assert '<answer from="candidates: A">\nY\n' in harness.voices.calls[-1].messages[-1].text


async def test_the_person_may_choose_if_the_rule_of_a_custom_meeting_decides_nothing(tmp_path: Path) -> None:
    votes = [reply_with_json({"ranked_choices": list(order)}) for order in ("ABC", "BCA", "CAB")]
    script = seats_script(
        claude=[position_reply("X"), votes[0]],
        gpt=[position_reply("Y"), votes[1]],
        gemini=[position_reply("Z"), votes[2]],
    )
    assert (await hold_recipe(tmp_path, RANKED, script))[1].outcome is Outcome.TIE
    _, decision = await hold_recipe(tmp_path, RANKED, script, answers={"choose": "B"})
    assert (decision.outcome, decision.position, decision.author) == (Outcome.REACHED, "X", "claude")
    assert decision_sentence(decision).startswith("The person chose B.")
    assert [dissent.seat for dissent in decision.dissent] == ["gpt", "gemini"]


async def test_pitches_with_objections_are_not_decided(tmp_path: Path) -> None:
    recipe = recipe_text(
        ("pitch", "position"), ("object", "agree-object-add"), rule='name = "no_objection"\nsupport = "all"'
    )
    agreed = seats_script(
        claude=[position_reply("X"), "AGREE: gpt"],
        gpt=[position_reply("Y"), "AGREE: gpt"],
        gemini=[position_reply("Z"), "AGREE: gpt"],
    )
    assert (await hold_recipe(tmp_path, recipe, agreed))[1].position == "Y"
    agreed["seats"]["gemini"]["turns"][1] = {"text": "DISAGREE: it is too slow"}
    assert (await hold_recipe(tmp_path, recipe, agreed))[1].outcome is Outcome.DEADLOCK


async def test_a_custom_meeting_can_converge_on_a_root_cause(tmp_path: Path) -> None:
    recipe = recipe_text(("diagnose", "diagnosis-json"), rule='name = "key_convergence"\nconfidence = 7')
    found = reply_with_json({"confidence_score": 7, "root_cause_key": "stale-token", "evidence": ["the log"]}, "Stale.")
    other = reply_with_json({"confidence_score": 9, "root_cause_key": "clock-skew", "evidence": []})
    _, decision = await hold_recipe(tmp_path, recipe, seats_script(claude=[found], gpt=[found], gemini=[other]))
    assert (decision.outcome, decision.winner) == (Outcome.REACHED, "stale-token")


async def test_a_custom_meeting_ends_at_a_round_without_a_quorum(tmp_path: Path) -> None:
    recipe = recipe_text(("rate", "score-json"), rule='name = "score_threshold"')
    _, decision = await hold_recipe(
        tmp_path, recipe, seats_script(claude=[score_reply(9)], gpt=["Hm."], gemini=["Hm."])
    )
    assert decision.outcome is Outcome.INSUFFICIENT


@pytest.mark.parametrize("recipe", ["scores", "ballots"])
async def test_a_session_killed_after_any_fact_resumes_to_the_expected_decision(tmp_path: Path, recipe: str) -> None:
    votes = [reply_with_json({"ranked_choices": list(order)}) for order in ("ABC", "BCA", "CAB")]
    tied = seats_script(
        claude=[position_reply("X"), votes[0]],
        gpt=[position_reply("Y"), votes[1]],
        gemini=[position_reply("Z"), votes[2]],
    )
    text, script = (EXAMPLE, REVIEWED) if recipe == "scores" else (RANKED, tied)
    decision = await kill_after_every_fact(
        lambda store: RecipeHarness(tmp_path, text, script, store), answers={"choose": "C"}
    )
    assert decision.outcome is Outcome.REACHED
