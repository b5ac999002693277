"""A recorded step is not performed again, and must match the step of the resumed meeting."""

from __future__ import annotations

import pytest

from roundtable.core.effects import Effect, EndStage, RunChecks, StageEnded
from roundtable.core.events import EffectDone, EffectStarted
from roundtable.core.faults import RecordMismatch
from roundtable.core.ports import Table
from roundtable.core.reasons import Said
from roundtable.core.stages import StageEnd
from roundtable.core.values import Decision, Outcome
from roundtable.engine.run import MeetingRules
from roundtable.report.reasons import decision_sentence
from tests.stories.session_harness import SESSION, SessionHarness


def stage_end(notice: str, stage: str = "requirements") -> EndStage:
    return EndStage(StageEnd("D1", stage, 1, "agreed", "R1 It runs.", notices=(Said(notice),)))


async def resume_over_record(recorded: EndStage, effect: Effect) -> str:
    """Resume a meeting that asks for an effect on a record with another result for that step."""
    harness = SessionHarness({"seats": {}})
    await harness.open()
    lease, _ = await harness.store.acquire(SESSION, "an earlier process")
    facts = (EffectStarted("stage/end", recorded), EffectDone("stage/end", StageEnded(recorded.end)))
    await harness.store.append_many(SESSION, facts, lease)
    await harness.store.release(lease)

    async def hold(table: Table) -> Decision:
        result = await table.do("stage/end", effect)
        assert isinstance(result, StageEnded)
        return Decision(Outcome.REACHED, (result.end.notices[0],))

    harness.meeting = MeetingRules("council", harness.rules.version, hold)
    decision = await harness.run()
    assert harness.performer.performed == []
    return decision_sentence(decision)


async def test_a_session_resumes_after_an_update_that_rewords_its_notices() -> None:
    assert await resume_over_record(stage_end("Who was asked did not speak."), stage_end("bob did not answer.")) == (
        "Who was asked did not speak."
    )


@pytest.mark.parametrize("effect", [stage_end("", stage="design"), RunChecks(("lint",))])
async def test_resume_rejects_a_step_that_was_recorded_with_another_effect(effect: Effect) -> None:
    with pytest.raises(RecordMismatch, match="recorded with a different effect"):
        await resume_over_record(stage_end(""), effect)
