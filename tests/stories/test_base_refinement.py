"""Requests of judges that cannot be spliced go to the author of the base once; a failing result is discarded."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.effects import DraftMove, DraftsSynthesised, MoveDrafted
from roundtable.core.session import Session
from roundtable.core.values import Decision
from roundtable.report.reasons import decision_sentence
from tests.repository import git
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import (
    BROKEN_SLUG,
    JOINED_SLUG,
    SLUG,
    SLUG_TEST,
    STUB,
    TASK,
    files_reply,
    merge_verdict,
    slug_writer,
)

WISH = "say in slug.py why the ends are trimmed"
SAID = SLUG.replace("    return", "    # Titles come with spaces around them.\n    return")
ALIKE = SLUG.replace(".strip().lower()", ".lower().strip()")
CLAUDES = "candidate-B"
WITHOUT_ADDITIONS = (
    "claude's candidate did not pass with the additions that the judges asked for, so it is used without them"
)
"""How claude's is read out with seed 7."""


async def hold_refined_build(desk: Roundtable, text: str) -> tuple[DeskMeeting, Decision, Session]:
    """Build with a judge that chooses claude's candidate and requests more, and with claude's refined text."""
    claude = [{"round": "*-refine", "text": files_reply({"slug.py": text})}, *slug_writer(SLUG)]
    judge = slug_writer(BROKEN_SLUG, STUB, judge=merge_verdict(CLAUDES, f"{WISH}."))
    meeting = DeskMeeting(desk, claude=claude, gpt=slug_writer(JOINED_SLUG), gemini=judge)
    decision = await meeting.hold("build", TASK, answers={"approve": "all"}, seed=7)
    return meeting, decision, await desk.sessions.get(meeting.session)


@pytest.mark.feature("S0.18", "S0.20")
async def test_a_judges_request_in_prose_goes_only_to_the_author_of_the_base(bench: Roundtable, code: Path) -> None:
    meeting, decision, session = await hold_refined_build(bench, SAID)
    assert decision.author == "claude"
    assert (code / "slug.py").read_text() == SAID
    merged = next(result for result in session.results.values() if isinstance(result, DraftsSynthesised))
    assert [directive.directive for directive in merged.left] == [WISH]
    assert [call.seat for call in meeting.voices.calls if "-refine" in call.call] == ["claude"]
    assert WISH in meeting.prompt("build/4-refine", "claude")
    assert "You may change only: slug.py." in meeting.prompt("build/4-refine", "claude")
    assert [effect.scope for effect in session.effects.values() if isinstance(effect, DraftMove)] == [("slug.py",)]
    assert [result.files for result in session.results.values() if isinstance(result, MoveDrafted)] == [("slug.py",)]


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        (BROKEN_SLUG, "the example"),
        (SLUG.replace("strip()", 'strip(" -")'), "a test of gpt's"),
    ],
)
async def test_a_refined_base_must_pass_the_examples_and_the_tests_of_all_seats(
    bench: Roundtable, code: Path, text: str, fails: str
) -> None:
    (code / "test_slug.py").write_text("import unittest\n")
    git(code, "commit", "-qam", "No test of slugs.")
    dashes = SLUG_TEST.replace('" Hello World "), "hello-world"', '"-a-"), "-a-"')
    claude = [{"round": "*-refine", "text": files_reply({"slug.py": text})}, *slug_writer(SLUG)]
    gpt = [{"round": "*-propose", "text": files_reply({"slug.py": ALIKE, "test_dashes.py": dashes})}]
    judge = slug_writer(BROKEN_SLUG, STUB, judge=merge_verdict(CLAUDES, f"{WISH}."))
    meeting = DeskMeeting(bench, claude=claude, gpt=gpt, gemini=judge)
    task = f"{TASK} slugify(' Hello World ') must be 'hello-world'."
    decision = await meeting.hold("build", task, answers={"approve": "all"}, seed=7)
    assert WITHOUT_ADDITIONS in decision_sentence(decision), f"it fails {fails}"
    assert (code / "slug.py").read_text() == SLUG


async def test_a_refined_base_that_fails_its_checks_is_discarded(bench: Roundtable, code: Path) -> None:
    _, decision, session = await hold_refined_build(bench, BROKEN_SLUG)
    assert any(isinstance(result, MoveDrafted) for result in session.results.values())
    assert WITHOUT_ADDITIONS in decision_sentence(decision)
    assert (code / "slug.py").read_text() == SLUG


async def test_a_request_without_a_file_allows_edits_only_in_files_that_candidates_touch(
    bench: Roundtable, code: Path
) -> None:
    claude = [{"round": "*-refine", "text": files_reply({"slug.py": SAID, "README.md": "Mine.\n"})}, *slug_writer(SLUG)]
    judge = slug_writer(BROKEN_SLUG, STUB, judge=merge_verdict(CLAUDES, "say why the ends are trimmed"))
    meeting = DeskMeeting(bench, claude=claude, gpt=slug_writer(JOINED_SLUG), gemini=judge)
    await meeting.hold("build", TASK, answers={"approve": "all"}, seed=7)
    assert (code / "README.md").read_text() == "Slugs.\n"
    assert "You may change only: slug.py." in meeting.prompt("build/4-refine", "claude")


async def test_the_author_sees_the_candidate_that_the_judges_request_names(bench: Roundtable, code: Path) -> None:
    claude = [{"round": "*-refine", "text": files_reply({"slug.py": SAID})}, *slug_writer(SLUG)]
    judge = slug_writer(BROKEN_SLUG, STUB, judge=merge_verdict(CLAUDES, "join the words as candidate-A does"))
    meeting = DeskMeeting(bench, claude=claude, gpt=slug_writer(JOINED_SLUG), gemini=judge)
    await meeting.hold("build", TASK, answers={"approve": "all"}, seed=7)
    assert JOINED_SLUG.strip() in meeting.prompt("build/4-refine", "claude")
    assert (code / "slug.py").read_text() == SAID


async def test_a_request_that_a_judge_makes_in_only_one_order_is_discarded_with_a_notice(
    bench: Roundtable, code: Path
) -> None:
    judge = slug_writer(BROKEN_SLUG, STUB, judge=merge_verdict(CLAUDES))
    judge[0]["text"] = merge_verdict(CLAUDES, "replace slugify by candidate-A's")
    meeting = DeskMeeting(bench, claude=slug_writer(SLUG), gpt=slug_writer(JOINED_SLUG), gemini=judge)
    decision = await meeting.hold("build", TASK, answers={"approve": "all"}, seed=7)
    assert (
        "Requests discarded, because the judge made them in only one of the two candidate orders: "
        "“replace slugify by gpt's”." in decision_sentence(decision)
    )
    assert (code / "slug.py").read_text() == SLUG
