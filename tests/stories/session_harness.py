"""Runs one session with the real engine, scripted voices and a store in memory that can crash at any event."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from typing import Protocol as Port

from roundtable.app.desk import Config, Places, Roundtable, Settings
from roundtable.core.effects import Effect, EffectResult, FilesRead
from roundtable.core.events import Event, Recorded, SessionOpened
from roundtable.core.faults import Fault
from roundtable.core.ports import Lease, Performer, Voice, Voices
from roundtable.core.session import Session
from roundtable.core.values import Charter, ContextItem, Decision, Limits, Reply, Request, Seat
from roundtable.engine.feed import Feed
from roundtable.engine.run import MeetingRules
from roundtable.meetings import Meeting, find_meeting
from roundtable.store.in_memory import InMemoryStore
from roundtable.voices.scripted import ScriptedVoice, parse_voice_script

SESSION = "01900000-0000-7000-8000-000000000001"
SEATS = ("claude", "gpt", "gemini")


class RecordingVoice:
    """A voice that forwards to another one and records every request."""

    def __init__(self, voice: Voice, calls: list[Request], plain_when_long: bool) -> None:
        self._voice = voice
        self._calls = calls
        self.name, self.vendor, self.structured = voice.name, voice.vendor, voice.structured
        self.plain_when_long = plain_when_long
        self.edits = voice.edits

    async def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault]:
        self._calls.append(request)
        async for piece in self._voice.speak(request):
            yield piece

    async def close(self) -> None:
        await self._voice.close()


class ScriptedVoices:
    """Answers every voice address from one script and records the requests in `calls`."""

    def __init__(self, script: dict[str, Any], *, plain_when_long: bool = False) -> None:
        self.calls: list[Request] = []
        self._voice = RecordingVoice(
            ScriptedVoice("script:test", parse_voice_script(script)), self.calls, plain_when_long
        )

    def find(self, voice: str) -> Voice | Fault:
        return self._voice

    def turns(self) -> Counter[str]:
        """Count the requests of each turn, including retries."""
        return Counter(call.call.partition("#")[0] for call in self.calls)


class ObservedPerformer(Performer, Port):
    """A performer that records the keys of performed and recovered effects."""

    performed: list[str]
    recovered: list[str]


class FakePerformer:
    """A performer that returns one fixed file for every effect and records its calls."""

    def __init__(self, store: InMemoryStore) -> None:
        self._store = store
        self.performed: list[str] = []
        self.recovered: list[str] = []

    async def perform(self, key: str, effect: Effect) -> EffectResult | Fault:
        self.performed.append(key)
        return FilesRead((ContextItem("a.py", await self._store.keep(b"print(1)"), 8),))

    async def recover(self, key: str, effect: Effect) -> EffectResult | Fault | None:
        self.recovered.append(key)
        return None


class RecordingPerformer:
    """A performer that forwards to the one of the desk and records its calls."""

    def __init__(self) -> None:
        self.target: Performer
        self.performed: list[str] = []
        self.recovered: list[str] = []

    async def perform(self, key: str, effect: Effect) -> EffectResult | Fault:
        self.performed.append(key)
        return await self.target.perform(key, effect)

    async def recover(self, key: str, effect: Effect) -> EffectResult | Fault | None:
        self.recovered.append(key)
        return await self.target.recover(key, effect)


class ProcessKilled(Exception):
    """Simulates kill -9: raised before an event is written."""


class CrashingStore(InMemoryStore):
    """A store that raises ProcessKilled after `events_left` events; raise the number to resume on its record."""

    def __init__(self, events_left: int) -> None:
        super().__init__()
        self.events_left = events_left

    async def append_many(self, session: str, events: Sequence[Event], lease: Lease | None = None) -> list[Recorded]:
        if lease is not None:
            if self.events_left < len(events):
                self.events_left = 0
                raise ProcessKilled
            self.events_left -= len(events)
        return await super().append_many(session, events, lease)


class SessionHarness:
    """One session with its store, voices, performer and feed."""

    def __init__(
        self,
        script: dict[str, Any],
        store: InMemoryStore | None = None,
        other_voices: Voices | None = None,
        meeting: str = "council",
        workspace: Path | None = None,
        config: Config = Config(),
    ) -> None:
        self.script = script
        self.voices = ScriptedVoices(script)
        self._other_voices = other_voices
        self.store = store or InMemoryStore()
        self.workspace = workspace
        self.config = config
        self.performer: ObservedPerformer = FakePerformer(self.store) if workspace is None else RecordingPerformer()
        self.feed = Feed()
        self.rules = find_meeting(meeting)
        self.meeting = MeetingRules(meeting, self.rules.version, self.rules.hold)

    async def open(
        self,
        *,
        seats: Sequence[str | Seat] = SEATS,
        limits: Limits = Limits(retries=0, seat_timeout=5, round_deadline=5),
        chain: tuple[str, ...] = ("script:test",),
        **charter: Any,
    ) -> None:
        """Record the charter."""
        templates = {name: await self.store.keep(text) for name, text in load_shipped_prompts(self.rules).items()}
        await self.store.append(
            SESSION,
            SessionOpened(
                Charter(
                    charter.pop("question", "REST or GraphQL?"),
                    tuple(seat if isinstance(seat, Seat) else Seat(seat, chain) for seat in seats),
                    self.meeting.name,
                    self.meeting.version,
                    limits=limits,
                    templates=templates,
                    seed=7,
                    headless=charter.pop("headless", True),
                    **charter,
                )
            ),
        )

    async def run(self) -> Decision:
        """Run the session until it ends; resume it if it has begun."""
        with TemporaryDirectory() as home:
            folder = self.workspace.parent if self.workspace else Path(home)
            places = Places(folder, folder)
            async with await Roundtable.open(
                self.workspace or places.nothing,
                places,
                Settings(self.config),
                store=self.store,
                voices=self._other_voices or self.voices,
                performer=None if isinstance(self.performer, RecordingPerformer) else self.performer,
            ) as desk:
                self.feed = desk.parts.feed
                if isinstance(self.performer, RecordingPerformer):
                    self.performer.target = desk.wiring.performer
                    desk.wiring.performer = self.performer
                return await self.hold(desk)

    async def hold(self, desk: Roundtable) -> Decision:
        """Run the session at an open desk."""
        return await desk.meetings.run(SESSION, lambda _: self.meeting)

    async def records(self) -> list[Recorded]:
        """Return all recorded events."""
        return await self.store.read(SESSION)

    async def session(self) -> Session:
        """Return the state computed from the recorded events."""
        return Session.fold(SESSION, await self.records())


def load_shipped_prompts(rules: Meeting) -> dict[str, bytes]:
    """Return the shipped prompts of a meeting by name."""
    folder = resources.files("roundtable.meetings").joinpath("prompts", rules.name)
    return {name: folder.joinpath(f"{name}.md").read_bytes() for name in rules.templates}


def position_reply(position: str, confidence: int = 7, text: str = "Because.") -> str:
    """Return a model's reply in the format `position`."""
    return f'{text}\n\n```json\n{{"position": "{position}", "confidence": {confidence}}}\n```'


def reconsider_reply(stand: str, *, error: str = "", position: str = "", text: str = "On reflection.") -> str:
    """Return a model's reply in the format `reconsider`."""
    block = f'{{"stand": "{stand}", "position": "{position}", "error": "{error}", "evidence": [], "confidence": 6}}'
    return f"{text}\n\n```json\n{block}\n```"


def ratings_reply(**answers: str) -> str:
    """Return a model's reply in the format `ratings`."""
    inside = ", ".join(f'"{label}": "{word}"' for label, word in answers.items())
    return f'{{"ratings": {{{inside}}}}}'


def council_turns(blind: str, ballot: str = "", reconsider: str = "", second: str = "") -> dict[str, Any]:
    """Return the script of one seat in a council."""
    turns: list[dict[str, Any]] = [{"round": "*1-blind", "text": blind}]
    turns += [{"round": "*2-ballot", "text": ballot}] if ballot else []
    turns += [{"round": "*3-reconsider", "text": reconsider}] if reconsider else []
    turns += [{"round": "*4-reconsider", "text": second or reconsider}] if reconsider else []
    return {"turns": turns}


# With seed 7 the labels are: gpt A, claude B, gemini C.
DISPUTE: dict[str, Any] = {
    "seats": {
        "claude": council_turns(
            position_reply("Use REST"),
            ratings_reply(A="opposed", B="same", C="opposed"),
            reconsider_reply("B", text="REST still."),
        ),
        "gpt": council_turns(
            position_reply("Use GraphQL"),
            ratings_reply(A="same", B="opposed", C="opposed"),
            reconsider_reply("A", text="GraphQL still."),
            reconsider_reply("B", error="I overlooked that the clients are few", text="REST after all."),
        ),
        "gemini": council_turns(
            position_reply("Use tRPC"),
            ratings_reply(A="opposed", B="acceptable", C="same"),
            reconsider_reply("B", error="tRPC needs TypeScript on both sides", text="REST, then."),
        ),
    }
}
"""A council with three positions and two rounds of reconsideration that decides for REST."""
