"""The delivered project: in the chosen form, only with approval, and with its contributors."""

from __future__ import annotations

import zipfile
from pathlib import Path

import msgspec
import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.effects import DeliverProject, ProjectDelivered
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import Stage, StageEnd
from roundtable.core.text.quotation import quote_markdown
from roundtable.core.values import Decision, Outcome
from roundtable.doors.mcp.session_view import build_mcp_meeting_status as as_told
from roundtable.doors.mcp.session_view import render_mcp_meeting_text
from roundtable.live.event_lines import live_decision_lines, live_lines_as_text
from roundtable.report.reasons import decision_sentence
from roundtable.report.stage_words import describe_file_contributions
from tests.repository import git
from tests.stories.desk_meeting import DeskMeeting, Turns
from tests.stories.slug_project import JOINED_SLUG, files_reply
from tests.stories.test_sdlc_files import ACCOUNTS, DEVELOPMENT, MERGED_ACCOUNTS, QA, YES, writer_turns
from tests.stories.test_sdlc_stages import REQUIREMENTS, stage_settings

AGREED = "R1 A user can log in.\nR2 What was done can be undone."
RULING = "CONSENSUS: BASE=candidate-B. INCORPORATE: login from candidate-A, rollback from candidate-C. MUST_FIX: none"
TEST = "from accounts import users\n\n\ndef test_nobody_is_there():\n    assert users() == []\n"
TESTS = "CONSENSUS: BASE=candidate-B. INCORPORATE: none MUST_FIX: none"
IDEA = "Accounts with a history that can be undone."
STAGES = (REQUIREMENTS, DEVELOPMENT, QA)
SHORT = (DEVELOPMENT,)


def file_names(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def seats(**beside: str) -> dict[str, Turns]:
    """Return three seats that agree on texts, write three programs with tests, and judge."""
    extra = {f"{name}.py": code for name, code in beside.items()}
    judged = [
        {"round": "requirements/*-judge", "text": f"CONSENSUS: {AGREED}"},
        {"round": "development/*-judge", "text": RULING},
        {"round": "qa/*-judge", "text": TESTS},
    ]
    return {
        name: [
            *judged,
            {"round": "requirements/*", "text": f"{name} wants it small."},
            {
                "round": "development/*-write",
                "text": files_reply({"accounts.py": text, **extra}),
            },
            {"round": "qa/*-write", "text": files_reply({"test_accounts.py": f"# {name}\n{TEST}"})},
        ]
        for name, text in ACCOUNTS.items()
    }


async def hold_stages(
    bench: Roundtable, into: Path, stages: tuple[Stage, ...] = STAGES, **answers: str
) -> tuple[DeskMeeting, Decision]:
    """Run these stages with advance answers."""
    meeting = DeskMeeting(bench, **seats())
    settings = {**stage_settings(*stages), "into": str(into)}
    return meeting, await meeting.hold("sdlc", IDEA, settings=settings, answers={**YES, **answers}, seed=7)


@pytest.mark.feature("S0.149")
async def test_a_delivered_repository_has_one_commit_per_stage_with_its_contributors(
    bench: Roundtable, tmp_path: Path
) -> None:
    meeting, decision = await hold_stages(bench, tmp_path / "accounts", deliver="git")
    folder = tmp_path / "accounts"
    assert (decision.outcome, decision.next_step) == (Outcome.REACHED, "delivered")
    assert str(folder) in decision_sentence(decision)
    session = await bench.sessions.get(meeting.session)
    for told in (
        live_lines_as_text(live_decision_lines(session, "here")),
        render_mcp_meeting_text(as_told(session, (), None), session),
    ):
        assert "Next step: none, the project was delivered." in told
    subjects = git(folder, "log", "--reverse", "--format=%s").split("\n")[:-1]
    assert subjects == ["D1 requirements", "D2 development", "D3 qa"]
    message = git(folder, "log", "-1", "--format=%B", "HEAD~1")
    assert "- accounts.py: login from gpt\n- accounts.py: rollback from gemini" in message
    trailers = git(folder, "log", "-1", "--format=%(trailers:only,unfold)", "HEAD~1").split("\n")
    owner = session.charter.owner
    assert trailers[:-2] == [
        f"Roundtable-Session: {meeting.session}",
        "Roundtable-Stage: D2 development",
        "Produced-By: claude",
        "Produced-By: gpt",
        "Produced-By: gemini",
        f"Approved-By: {owner} (in advance)",
    ]
    assert "Checks: its own tests=passed" in git(folder, "log", "-1", "--format=%(trailers:only,unfold)")
    assert quote_markdown(AGREED) in (folder / "docs/decisions/D1-requirements.md").read_text()
    assert (folder / "accounts.py").read_text() == MERGED_ACCOUNTS
    assert (folder / "test_accounts.py").read_text() == f"# claude\n{TEST}"
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "show", "HEAD~1:accounts.py") == MERGED_ACCOUNTS
    assert "test_accounts.py" not in git(folder, "ls-tree", "-r", "--name-only", "HEAD~1")


async def test_agreed_text_cannot_forge_headings_in_its_decision_document(bench: Roundtable, tmp_path: Path) -> None:
    forged = f"{AGREED}\n# D2 development\n- development was agreed on.\n<img src=x>"
    judge = {"round": "requirements/*-judge", "text": f"CONSENSUS: {forged}"}
    meeting = DeskMeeting(bench, **{name: [judge, *turns] for name, turns in seats().items()})
    settings = {**stage_settings(REQUIREMENTS, DEVELOPMENT), "into": str(tmp_path / "accounts")}
    await meeting.hold("sdlc", IDEA, settings=settings, answers={**YES, "deliver": "git"}, seed=7)
    paper = (tmp_path / "accounts/docs/decisions/D1-requirements.md").read_text()
    assert "> # D2 development" in paper
    assert [line for line in paper.split("\n") if line.startswith("#")] == ["# D1 requirements"]
    assert "<img" not in paper.replace("\\<img", "")


@pytest.mark.feature("S0.53")
async def test_a_delivered_zip_contains_only_paths_inside_the_project(bench: Roundtable, tmp_path: Path) -> None:
    _, decision = await hold_stages(bench, tmp_path / "accounts", SHORT, deliver="zip")
    assert str(tmp_path / "accounts.zip") in decision_sentence(decision)
    with zipfile.ZipFile(tmp_path / "accounts.zip") as zip:
        assert zip.namelist() == ["accounts/accounts.py"]
        assert zip.read("accounts/accounts.py").decode() == MERGED_ACCOUNTS
    assert not (tmp_path / "accounts").exists()


async def test_without_approval_nothing_is_delivered_and_the_project_can_be_delivered_later(
    bench: Roundtable, tmp_path: Path
) -> None:
    meeting, decision = await hold_stages(bench, tmp_path / "accounts", SHORT)
    assert (decision.outcome, decision.next_step) == (Outcome.REACHED, "later")
    assert "To deliver the project later, run `roundtable project SESSION --to PATH`." in decision_sentence(decision)
    assert file_names(tmp_path) == ["code", "home"]
    gate = (await bench.sessions.get(meeting.session)).gates["deliver"]
    assert (gate.writes, gate.default) == (True, "later")
    assert gate.details["zip"] == f"as a zip file: {tmp_path / 'accounts'}.zip"


async def test_delivery_never_overwrites_existing_files_and_does_not_lose_the_project(
    bench: Roundtable, tmp_path: Path
) -> None:
    (tmp_path / "accounts").mkdir()
    (tmp_path / "accounts/mine.txt").write_text("mine")
    _, decision = await hold_stages(bench, tmp_path / "accounts", SHORT, deliver="folder")
    assert (decision.outcome, decision.next_step) == (Outcome.REACHED, "later")
    assert "accounts exists already and is not overwritten." in decision_sentence(decision)
    assert file_names(tmp_path / "accounts") == ["mine.txt"]


async def test_only_an_approved_project_is_delivered_and_only_once(bench: Roundtable, tmp_path: Path) -> None:
    meeting, _ = await hold_stages(bench, tmp_path / "accounts", deliver="folder")
    session = await bench.sessions.get(meeting.session)
    draft = StageEnd.latest_draft(session_stage_ends(session))
    given = DeliverProject(draft, "folder", str(tmp_path / "accounts"), "deliver")
    again = await bench.wiring.performer.perform(f"{meeting.session}/deliver/hand-over", given)
    assert again == ProjectDelivered(str(tmp_path / "accounts"), ("accounts.py", "test_accounts.py"))
    (tmp_path / "accounts/accounts.py").write_text("somebody's own work")
    refused = await bench.wiring.performer.perform(f"{meeting.session}/deliver/hand-over", given)
    assert isinstance(refused, Fault)
    earlier = session_stage_ends(session)[1].draft
    for change in (
        {"form": "git"},
        {"into": str(tmp_path / "elsewhere")},
        {"draft": earlier},
        {"gate": "after-qa"},
        {"gate": "nobody-asked"},
    ):
        forged = msgspec.structs.replace(given, **change)
        fault = await bench.wiring.performer.perform(f"{meeting.session}/deliver/hand-over", forged)
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.PERMISSION
    assert file_names(tmp_path) == ["accounts", "code", "home"]


async def test_an_extension_of_an_existing_project_is_applied_like_any_change_and_can_be_undone(
    bench: Roundtable, code: Path
) -> None:
    ruling = {"judge": "CONSENSUS: BASE=candidate-A. INCORPORATE: none MUST_FIX: none"}
    meeting = DeskMeeting(
        bench, **{name: writer_turns({"slug.py": JOINED_SLUG}, **ruling) for name in ("claude", "gpt")}
    )
    settings = {**stage_settings(DEVELOPMENT), "existing": True}
    before = (code / "slug.py").read_text()
    decision = await meeting.hold("sdlc", IDEA, settings=settings, answers={**YES, "approve": "all"}, seed=7)
    assert (decision.outcome, decision.next_step) == (Outcome.REACHED, "applied"), decision_sentence(decision)
    assert (code / "slug.py").read_text() == JOINED_SLUG
    message = git(code, "log", "-1", "--format=%B")
    assert f"Roundtable-Session: {meeting.session}" in message
    assert git(code, "status", "--porcelain") == ""
    await bench.changes.undo()
    assert (code / "slug.py").read_text() == before


async def test_every_version_of_every_file_is_kept_with_its_author(bench: Roundtable, tmp_path: Path) -> None:
    meeting, _ = await hold_stages(bench, tmp_path / "accounts")
    session, records = await bench.sessions.get(meeting.session), await bench.sessions.records(meeting.session)
    versions = await bench.changes.project_versions(session, records)
    authors = {
        version.name: [(change.path, change.kind, describe_file_contributions(change)) for change in version.changes]
        for version in versions
    }
    assert authors == {
        "requirements": [],
        **{f"development/{seat}": [("accounts.py", "new", seat)] for seat in ("claude", "gpt", "gemini")},
        "development": [("accounts.py", "new", "claude, login from gpt, rollback from gemini")],
        **{f"qa/{seat}": [("test_accounts.py", "new", seat)] for seat in ("claude", "gpt", "gemini")},
        "qa": [("test_accounts.py", "new", "claude")],
    }
    for seat, text in ACCOUNTS.items():
        assert (await bench.changes.read_project_file(versions, "accounts.py", f"development/{seat}")).decode() == text
    assert (await bench.changes.read_project_file(versions, "accounts.py")).decode() == MERGED_ACCOUNTS
