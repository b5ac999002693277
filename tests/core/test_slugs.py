"""A slug is a readable name for a session and its folder, in the script of the question."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roundtable.core.events import Recorded, SessionOpened
from roundtable.core.session import Session
from roundtable.core.text.slugs import make_slug_from_text
from roundtable.core.values import Charter
from roundtable.report.workspace_folder import render_session_document_files

DAY = "2026-11-16"


@pytest.mark.parametrize(
    ("question", "slug"),
    [
        ("REST or GraphQL?", "rest-or-graphql"),
        ("Où est le café d'İstanbul?", "ou-est-le-cafe-d-istanbul"),
        ("One two three four five six seven", "one-two-three-four-five-six"),
        ("数据库用什么？", "数据库用什么"),
        ("ＧｒａｐｈＱＬ 还是 REST？", "graphql-还是-rest"),
        ("Какой кэш?", "какой-кэш"),
        ("हिन्दी में?", "हिन्दी-में"),
        ("데이터베이스는?", "데이터베이스는"),
        ("../../etc 🙂 \u202e", "etc"),
        ("🙂?!", "meeting"),
    ],
)
def test_a_slug_keeps_the_words_of_the_question_in_any_script(question: str, slug: str) -> None:
    assert make_slug_from_text(question, DAY) == f"{DAY}-{slug}"


def folder_name(opened: SessionOpened) -> str:
    """The folder of a session in the workspace folder."""
    session = Session.fold("s1", [Recorded(1, f"{DAY}T00:00:00.000000Z", "s1", opened)])
    return next(iter(render_session_document_files(session))).split("/")[1]


@given(st.text(max_size=300))
@example("数据库" * 100)
@example("a" * 66 + "é" + "数" * 9)
def test_a_slug_is_short_and_valid_as_a_folder_name(question: str) -> None:
    slug = make_slug_from_text(question, DAY)
    assert len(slug.encode()) <= 80
    assert not slug.endswith("-")
    opened = SessionOpened(Charter(question, (), "council", 1, slug=slug))
    assert folder_name(opened) == slug


@pytest.mark.parametrize("slug", ["", "-a", "..", "a/b", "a b", "数\u202e", "a" * 101, "数" * 40, "README"])
def test_a_text_that_is_no_folder_name_is_not_a_slug(slug: str) -> None:
    opened = SessionOpened(Charter("Which?", (), "council", 1, slug=slug))
    assert folder_name(opened) == "s1"
