"""Proofs and tests in Python run with the project's own environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from roundtable.app.desk import Places, Roundtable
from roundtable.core.effects import ClaimsProven
from roundtable.core.values import Outcome
from roundtable.report.reasons import decision_sentence
from tests.repository import commit, own_python, repository, sandbox, write
from tests.stories.desk_meeting import DeskMeeting, knight_turn
from tests.stories.slug_project import SLUG, SLUG_TEST, TASK, files_reply
from tests.stories.test_build import YES

SEES = "import os, sys\nsys.exit(0 if any(map(os.path.exists, {!r})) else 1)"


@pytest.mark.parametrize(
    ("link", "to"),
    [(".venv/bin/python", "../../../private/bin/python"), (".venv", "../private")],
    ids=["file", "folder"],
)
async def test_an_environment_inside_the_project_gives_a_proof_no_further_access_to_the_machine(
    tmp_path: Path, bench_places: Places, link: str, to: str
) -> None:
    await sandbox()
    own_python(tmp_path)
    (tmp_path / ".venv").rename(tmp_path / "private")
    write(tmp_path / "private", {"lib/diary.txt": "Dear diary\n"})
    work = repository(tmp_path / "work", {"a.py": "a = 1\n"})
    (work / link).parent.mkdir(parents=True, exist_ok=True)
    (work / link).symlink_to(to)
    commit(work, "An environment")
    places = [str(tmp_path / name / "lib/diary.txt") for name in ("private", "work/.venv")]
    claim = {"claim": "It is seen", "proof": SEES.format(places), "language": "python"}
    async with await Roundtable.open(work, bench_places) as desk:
        meeting = DeskMeeting(desk, claude=[knight_turn(9, claims=[claim])], gpt=[knight_turn(9)])
        await meeting.hold("knights", files=("a.py",))
        proven = (await desk.sessions.get(meeting.session)).results["knights/1-speak/proofs"]
    assert isinstance(proven, ClaimsProven)
    assert [proof.held for proof in proven.proofs] == [False]


@pytest.mark.parametrize("check", [(".venv/bin/check",), ("sh", "check.sh")])
async def test_tests_find_the_projects_packages_with_any_configured_check_command(
    code: Path, bench_places: Places, check: tuple[str, ...]
) -> None:
    await sandbox()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    runner = f"#!{code}/.venv/bin/python\nimport sys, unittest\nsys.path[:0] = ['.']\nunittest.main('test_slug')\n"
    write(
        code, {f".venv/lib/{version}/site-packages/only_here.py": "WORDS = ' Good Day '\n", ".venv/bin/check": runner}
    )
    (code / ".venv/bin/check").chmod(0o755)
    write(code, {"check.sh": "grep -q lower slug.py\n"})
    commit(code, "A check")
    bench_places.user_config.parent.mkdir()
    bench_places.user_config.write_text(f"[checks]\nit = {json.dumps(check)}\n")
    test = SLUG_TEST.replace("import unittest", "import unittest\nfrom only_here import WORDS")
    test = test.replace('" Hello World "', "WORDS").replace("hello-world", "good-day")
    async with await Roundtable.open(code, bench_places) as desk:
        meeting = DeskMeeting(
            desk, claude=[{"round": "*-propose", "text": files_reply({"slug.py": SLUG, "test_more.py": test})}]
        )
        decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.outcome is Outcome.REACHED, decision_sentence(decision)
    assert (code / "slug.py").read_text() == SLUG
    assert (code / "test_more.py").read_text() == test
