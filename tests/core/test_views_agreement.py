"""The map of who stands with whom: a drawing and words, and nothing a model writes can get out of it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from roundtable.core.session import Session
from roundtable.core.views import page
from roundtable.core.views.agreement import agreement_map
from tests.stories.house import House, again, answer, seat_script

HOSTILE = 'gpt"><script>alert(1)</script>'
TABLE = {
    "seats": {
        "claude": seat_script(answer("REST"), reconsider=again("A")),
        HOSTILE: seat_script(answer("GraphQL"), reconsider=again("A")),
        "gemini": seat_script(answer("GraphQL"), reconsider=again("A", error="The client is a browser after all")),
        "grok": seat_script(answer("GraphQL"), reconsider=again("B")),
        "llama": {"turns": [{"fault": "quota", "message": "No credit."}]},
    }
}


async def held() -> Session:
    house = House(TABLE)
    await house.open(seats=tuple(TABLE["seats"]), options=("REST", "GraphQL"))
    await house.run()
    return await house.session()


def drawn(session: Session) -> ElementTree.Element:
    figure = "\n".join(agreement_map(session))
    found = re.search(r"<svg.*</svg>", figure, re.DOTALL)
    assert found is not None
    return ElementTree.fromstring(found[0])


async def test_every_seat_sits_at_the_table_with_the_sign_of_its_camp_and_how_it_came_there() -> None:
    drawing = drawn(await held())
    assert len(drawing.findall("circle[@class]")) == 5 + 2
    texts = [it.text for it in drawing.findall("text")]
    assert texts[0::3] == ["A", "B", "A", "B", "?"]
    assert texts[2::3] == ["held", "went to A without evidence", "came from B, for a reason", "held", "not heard"]


async def test_lines_join_those_who_ended_together_and_differ_in_kind_for_those_who_did_not() -> None:
    kinds = [it.get("class", "") for it in drawn(await held()).findall("line")]
    assert sorted(kinds) == ["apart"] * 4 + ["together c0", "together c1"]
    assert kinds[-1] != "apart", "agreement lies above"


async def test_the_map_says_the_same_in_words() -> None:
    session = await held()
    figure = "\n".join(agreement_map(session))
    label = drawn(session).get("aria-label", "")
    assert "claude A, held" in label
    assert "REST" in figure
    assert "(decided)" not in figure, "two against two"


async def test_names_stay_names() -> None:
    html = page(await held())
    assert "<script" not in html
    assert "&lt;script&gt;" in html


async def test_there_is_no_map_before_anybody_has_spoken() -> None:
    house = House(TABLE)
    await house.open()
    assert list(agreement_map(await house.session())) == []
