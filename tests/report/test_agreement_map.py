"""The map of agreement: a drawing and words that model text cannot break."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from roundtable.core.session import Session
from roundtable.report.agreement_map import render_agreement_map
from roundtable.report.html import render_session_page
from tests.stories.session_harness import SessionHarness, council_turns, position_reply, reconsider_reply

HOSTILE = 'gpt"><script>alert(1)</script>'
TABLE = {
    "seats": {
        "claude": council_turns(position_reply("REST"), reconsider=reconsider_reply("A")),
        HOSTILE: council_turns(position_reply("GraphQL"), reconsider=reconsider_reply("A")),
        "gemini": council_turns(
            position_reply("GraphQL"), reconsider=reconsider_reply("A", error="The client is a browser after all")
        ),
        "grok": council_turns(position_reply("GraphQL"), reconsider=reconsider_reply("B")),
        "llama": {"turns": [{"fault": "quota", "message": "No credit."}]},
    }
}


async def held() -> Session:
    harness = SessionHarness(TABLE)
    await harness.open(seats=tuple(TABLE["seats"]), options=("REST", "GraphQL"))
    await harness.run()
    return await harness.session()


def drawn(session: Session) -> ElementTree.Element:
    figure = "\n".join(render_agreement_map(session))
    found = re.search(r"<svg.*</svg>", figure, re.DOTALL)
    assert found is not None
    return ElementTree.fromstring(found[0])


async def test_the_map_shows_every_seat_with_its_camp_and_how_it_moved() -> None:
    session = await held()
    drawing = drawn(session)
    assert len(drawing.findall("circle[@cx]")) == 5 + 2
    texts = [label.text for label in drawing.findall("text")]
    assert texts[0::2] == ["A", "B", "A", "B", "?"]
    legend = "\n".join(render_agreement_map(session)).partition("</svg>")[2]
    for way in (
        "claude, gemini (moved from B for a stated reason)",
        "(moved to A without evidence), grok",
        "no answer: llama",
    ):
        assert way in legend


@pytest.mark.parametrize("seats", [1, 2, 3, 5, 12, 20])
async def test_seats_and_names_on_the_map_never_overlap(seats: int) -> None:
    names = [f"a-seat-called-{number}" for number in range(seats)]
    harness = SessionHarness(
        {"seats": {name: council_turns(position_reply("REST"), reconsider=reconsider_reply("A")) for name in names}}
    )
    await harness.open(seats=names, options=("REST", "GraphQL"))
    await harness.run()
    drawing = drawn(await harness.session())
    boxes = [_box(element) for element in [*drawing.findall("circle[@cx]"), *drawing.findall("text")[1::2]]]
    assert len(boxes) == 2 * seats
    for (left, top, right, bottom), (left2, top2, right2, bottom2) in combinations(boxes, 2):
        assert right <= left2 or right2 <= left or bottom <= top2 or bottom2 <= top
    x, y, width, height = map(float, drawing.get("viewBox", "").split())
    for left, top, right, bottom in boxes:
        assert x <= left
        assert right <= x + width
        assert y <= top
        assert bottom <= y + height


def _box(shape: ElementTree.Element) -> tuple[float, float, float, float]:
    """Return the box of a circle or a text, whose letters are 17 pixels high and at most about 10 wide."""
    if shape.tag == "circle":
        x, y, reach = (float(shape.get(name, "")) for name in ("cx", "cy", "r"))
        return x - reach, y - reach, x + reach, y + reach
    x, y, width = float(shape.get("x", "")), float(shape.get("y", "")), 10.0 * len(shape.text or "")
    left = {"left": x - width, "right": x}.get(shape.get("class", ""), x - width / 2)
    return left, y - 13, left + width, y + 4


async def test_lines_show_which_seats_ended_with_the_same_answer() -> None:
    kinds = [line.get("class", "") for line in drawn(await held()).findall("line")]
    assert sorted(kinds) == ["apart"] * 4 + ["together c0", "together c1"]
    assert kinds[-1] != "apart", "agreement lies above"


async def test_the_map_has_a_text_alternative() -> None:
    session = await held()
    figure = "\n".join(render_agreement_map(session))
    label = drawn(session).get("aria-label", "")
    assert "claude A, unchanged" in label
    assert "REST" in figure
    assert "(decided)" not in figure, "two against two"


async def test_seat_names_are_escaped_on_the_map() -> None:
    html = render_session_page(await held())
    assert "<script" not in html
    assert "&lt;script&gt;" in html


async def test_there_is_no_map_before_any_seat_has_answered() -> None:
    harness = SessionHarness(TABLE)
    await harness.open()
    assert list(render_agreement_map(await harness.session())) == []
