"""The files of a second opinion: run ids, the versioned run JSON, its Markdown version, and their folder."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roundtable.core.session import Session
from roundtable.report.second_opinion_run import (
    build_second_opinion_report,
    render_second_opinion_document_files,
    render_second_opinion_json,
    render_second_opinion_markdown,
    render_second_opinion_run_id,
)
from tests.stories.session_harness import SessionHarness, reconsider_reply

PAIR = ("claude", "opencode")


def opinion(what: str, stance: str) -> str:
    return f'Because.\n\n```json\n{{"recommendation": "{what}", "stance": "{stance}", "risks": []}}\n```'


def seat(what: str, stance: str, then: str) -> dict[str, Any]:
    return {"turns": [{"round": "*1-opinions", "text": opinion(what, stance)}, {"round": "*3-follow-up", "text": then}]}


SPLIT = {
    "seats": {
        "claude": seat("Split it", "yes", reconsider_reply("B")),
        "opencode": seat("Never split it", "no", reconsider_reply("A")),
    }
}


async def held(*, follow_up: bool, script: dict[str, Any] = SPLIT) -> tuple[SessionHarness, Session]:
    harness = SessionHarness(script, meeting="second-opinion")
    await harness.open(seats=PAIR, settings={"follow_up": follow_up}, name="rollout", workspace="/w")
    await harness.run()
    return harness, await harness.session()


@pytest.mark.feature("S2.31")
async def test_a_run_id_is_its_start_to_the_microsecond() -> None:
    harness, session = await held(follow_up=False)
    began = next(record.at for record in await harness.records() if record.event.__class__.__name__ == "RunStarted")
    assert render_second_opinion_run_id(session) == "run-" + began.replace("-", "").replace(":", "").replace(".", "")
    assert len(render_second_opinion_run_id(session)) == len("run-20260328T120000000000Z")


@pytest.mark.feature("S2.6", "S2.32", "S2.33", "S2.34", "S2.35", "S2.36")
async def test_run_json_has_a_version_and_the_reasons_for_a_follow_up_and_for_stopping() -> None:
    _, session = await held(follow_up=True)
    data = json.loads(render_second_opinion_json(session))
    assert (data["version"], data["follow_up_enabled"]) == ("2.1", True)
    assert (data["follow_up_reason"], data["stop_reason"]) == ("disagreement", "follow_up_complete")
    assert [round["prompt_role"] for round in data["rounds"]] == ["initial", "follow_up"]
    assert data["participants"] == ["claude", "opencode"]
    assert data["rounds"][0]["answers"][0]["text"] == "Because."
    _, plain = await held(follow_up=False)
    assert (
        build_second_opinion_report(plain).follow_up_enabled,
        build_second_opinion_report(plain).follow_up_reason,
    ) == (False, "")
    assert build_second_opinion_report(plain).stop_reason == "round_one_complete"


async def test_a_participant_that_failed_says_why() -> None:
    script = {
        "seats": {"claude": SPLIT["seats"]["claude"], "opencode": {"turns": [{"fault": "quota", "message": "Empty."}]}}
    }
    _, session = await held(follow_up=False, script=script)
    failed = build_second_opinion_report(session).rounds[0].answers[1]
    assert (failed.participant, failed.status, failed.text) == ("opencode", "missing", "")
    assert failed.error.startswith("quota: Empty.")


@pytest.mark.feature("S2.6")
async def test_a_run_contains_each_recommendation_and_marks_unreadable_answers() -> None:
    script = {"seats": {"claude": SPLIT["seats"]["claude"], "opencode": {"turns": [{"text": "I would rather not."}]}}}
    _, session = await held(follow_up=False, script=script)
    told, unread = build_second_opinion_report(session).rounds[0].answers
    assert (told.status, told.position, told.stance) == ("ok", "Split it", "support")
    assert (unread.status, unread.position, unread.stance) == ("unread", "", "")
    text = render_second_opinion_markdown(session)
    assert "### claude (ok)\n\nPosition: **Split it**\n\nStance: support" in text
    assert "### opencode (unread)\n\n> I would rather not." in text


@pytest.mark.feature("S2.6")
async def test_the_markdown_file_contains_the_same_as_the_json_file() -> None:
    _, session = await held(follow_up=True)
    text = render_second_opinion_markdown(session)
    for part in (
        render_second_opinion_run_id(session),
        "Stop reason: follow_up_complete",
        "## Round 2: follow_up",
        "### opencode (ok)",
    ):
        assert part in text
    assert text.endswith("\n")


@pytest.mark.feature("S2.47", "S2.48", "S2.49")
async def test_session_files_are_stored_under_their_key_and_locked_only_while_held() -> None:
    harness, session = await held(follow_up=False)
    records = await harness.records()
    key, run = build_second_opinion_report(session).session_key, render_second_opinion_run_id(session)
    files = render_second_opinion_document_files([(session, records)], None)
    assert sorted(files) == [
        f"logs/runs/{key}/{run}.jsonl",
        f"logs/sessions/{key}.jsonl",
        f"runs/{key}/{run}.json",
        f"runs/{key}/{run}.md",
        f"sessions/{key}/session.json",
    ]
    assert json.loads(files[f"sessions/{key}/session.json"])["runs"] == [run]
    assert len(files[f"logs/sessions/{key}.jsonl"].splitlines()) == len(records)
    assert (
        render_second_opinion_document_files([(session, records)], "host:1:2:3")[f"sessions/{key}/session.lock"]
        == "host:1:2:3\n"
    )


async def test_the_session_key_depends_on_the_workspace_and_the_name() -> None:
    keys: set[str] = set()
    for workspace, name in (("/w", "rollout"), ("/v", "rollout"), ("/w", "other"), ("/w", "日本")):
        harness = SessionHarness(SPLIT, meeting="second-opinion")
        await harness.open(seats=PAIR, name=name, workspace=workspace)
        keys.add(build_second_opinion_report(await harness.session()).session_key)
    assert len(keys) == 4
    assert all("/" not in key and key.isascii() for key in keys)
