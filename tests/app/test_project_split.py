"""A project split into parts that fit the context windows of its readers: each file once, each part with a map."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from roundtable.app.desk import Roundtable
from roundtable.app.opening.context_window import MAP_TITLE
from roundtable.app.settings.places import Places
from roundtable.core.decide.findings import CodePlace
from roundtable.core.effects import ProjectSplit, SplitForReview
from roundtable.core.events import SessionOpened
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.core.values import Charter, Seat
from roundtable.store.session_ids import generate_stored_session_id
from tests.repository import repository

WINDOWS = """
[endpoints.lab]
base_url = "http://127.0.0.1:9/v1"
key = "none"
local = true
context = { large = 200_000, small = 8_000, tiny = 5_000, slow = 200_000 }
tokens_per_minute = { slow = 8_000 }
"""
LONG = "".join(f"def step_{at}(value):\n    return value + {at}\n\n\n" for at in range(600))
FILES = {
    "app/main.py": "from app.steps import step_1\n\nprint(step_1(41))\n",
    "app/steps.py": LONG,
    "app/notes.py": LONG.replace("step", "note"),
    "pyproject.toml": '[project]\nname = "app"\n',
    "tests/test_main.py": "import app.main\n",
    ".env": "TOKEN=1\n",
    "image.png": "no text",
}


@pytest.fixture
def workspace(tmp_path: Path, places: Places) -> Path:
    places.config.mkdir(parents=True)
    places.user_config.write_text(WINDOWS)
    return repository(tmp_path / "work", FILES)


async def cut(desk: Roundtable, *voices: str, tokens: int = 20_000, answer: int = 1000) -> ProjectSplit | Fault:
    """Split the files of the workspace for seats with these voices."""
    session = generate_stored_session_id()
    seats = tuple(Seat(f"seat-{at}", (voice,)) for at, voice in enumerate(voices))
    charter = Charter("Is it sound?", seats, "sdlc", 1, settings={"stages": "[]", "existing": True})
    await desk.parts.record.append(session, SessionOpened(charter))
    done = await desk.wiring.performer.perform(f"{session}/code-review/cut", SplitForReview("", tokens, answer))
    assert isinstance(done, ProjectSplit | Fault)
    return done


async def parts(desk: Roundtable, *voices: str, tokens: int = 20_000) -> ProjectSplit:
    done = await cut(desk, *voices, tokens=tokens)
    assert isinstance(done, ProjectSplit)
    return done


async def texts(desk: Roundtable, done: ProjectSplit) -> dict[str, str]:
    """Return each file, joined from its parts."""
    items = sorted(
        (file for chunk in done.chunks for file in chunk.files),
        key=lambda file: CodePlace.parse(file.name).first,
    )
    found: dict[str, str] = {}
    for item in items:
        path = CodePlace.parse(item.name).path
        found[path] = found.get(path, "") + (await desk.sessions.read_blob(item.digest)).decode()
    return found


SHOWN = {path: text for path, text in FILES.items() if path not in (".env", "image.png")}


@pytest.mark.feature("S0.147")
async def test_a_project_that_fits_the_smallest_context_window_is_not_split(desk: Roundtable) -> None:
    done = await parts(desk, "lab:large", "lab:large", tokens=2_000)
    (chunk,) = done.chunks
    assert [file.name for file in chunk.files] == [
        "app/main.py", "app/notes.py", "app/steps.py", "pyproject.toml", "tests/test_main.py",
    ]  # fmt: skip
    assert chunk.map is None, "who sees everything needs no map"
    assert done.refused.keys() == {".env"}


@pytest.mark.feature("S0.32", "S0.33")
@pytest.mark.parametrize("voices", [("lab:large", "lab:small"), ("script:x.toml",)])
async def test_one_small_or_unknown_context_window_splits_the_project_for_all_seats(
    desk: Roundtable, voices: tuple[str, ...]
) -> None:
    done = await parts(desk, *voices, tokens=2_000)
    assert len(done.chunks) > 5
    assert await texts(desk, done) == SHOWN
    for chunk in done.chunks:
        assert sum(file.size for file in chunk.files) / BYTES_PER_TOKEN <= 2_000


@pytest.mark.feature("S0.32")
@pytest.mark.parametrize("voice", ["lab:small", "lab:slow"])
async def test_each_part_with_its_map_and_answer_fits_the_smallest_window_and_rate_limit(
    desk: Roundtable, voice: str
) -> None:
    done = await parts(desk, "lab:large", voice)
    assert await texts(desk, done) == SHOWN
    for chunk in done.chunks:
        shown = sum(file.size for file in (*chunk.files, *filter(None, (chunk.map,))))
        assert shown / BYTES_PER_TOKEN < 3 / 4 * (8_000 - 1_000)


@pytest.mark.feature("S0.34", "S0.38")
async def test_program_code_comes_first_and_each_part_has_a_map_of_its_dependencies(desk: Roundtable) -> None:
    done = await parts(desk, "script:x.toml", tokens=4_000)
    first = done.chunks[0]
    assert first.files[0].name.startswith("app/")
    assert first.map is not None
    assert first.map.name == MAP_TITLE
    known = {
        file.name: (await desk.sessions.read_blob(chunk.map.digest)).decode()
        for chunk in done.chunks
        if chunk.map
        for file in chunk.files
    }
    using = next(text for name, text in known.items() if name == "app/main.py")
    assert "app/steps.py:5 def step_1(value)" in using


async def test_a_context_window_too_small_for_any_code_is_reported_before_any_call(desk: Roundtable) -> None:
    done = await cut(desk, "lab:large", "lab:tiny", answer=4096)
    assert isinstance(done, Fault)
    assert done.kind is FaultKind.CONTEXT_OVERFLOW
    assert done.message == "The context window of lab:tiny is too small for the earlier decisions and the code."
    assert done.help == "Choose seats with larger context windows for this stage."


async def test_a_seat_outside_a_stage_does_not_make_its_parts_smaller(desk: Roundtable) -> None:
    session = generate_stored_session_id()
    seats = (Seat("claude", ("lab:large",)), Seat("pocket", ("lab:tiny",)))
    charter = Charter("Is it sound?", seats, "sdlc", 1, settings={"stages": "[]", "existing": True})
    await desk.parts.record.append(session, SessionOpened(charter))
    effect = SplitForReview("", 20_000, 4096, seats=("claude",))
    done = await desk.wiring.performer.perform(f"{session}/code-review/cut", effect)
    assert isinstance(done, ProjectSplit)
    assert len(done.chunks) == 1
    missing = msgspec.structs.replace(effect, seats=())
    assert isinstance(await desk.wiring.performer.perform(f"{session}/code-review/cut", missing), Fault)
