"""A table for stories: the real engine, the real scripted voice, a store in memory, and doors to crash through."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from typing import Protocol as Port

from roundtable.app.desk import Config, Places, Roundtable, Settings
from roundtable.app.wiring import Wiring
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
from roundtable.voices.scripted import ScriptedVoice, parse_script

SESSION = "01900000-0000-7000-8000-000000000001"
SEATS = ("claude", "gpt", "gemini")


class CountedVoice:
    """Passes a voice through and remembers every call that was made."""

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
    """Every voice string is answered by one script; `calls` is what the models were asked."""

    def __init__(self, script: dict[str, Any], *, plain_when_long: bool = False) -> None:
        self.calls: list[Request] = []
        self._voice = CountedVoice(ScriptedVoice("script:test", parse_script(script)), self.calls, plain_when_long)

    def find(self, voice: str) -> Voice | Fault:
        return self._voice

    def turns(self) -> Counter[str]:
        """How often each turn was asked, whatever the attempt."""
        return Counter(call.call.partition("#")[0] for call in self.calls)


class Remembering(Performer, Port):
    """A performer that remembers what it was told to do, and what it was asked to recover."""

    performed: list[str]
    recovered: list[str]


class CountingPerformer:
    """Reads no real file; remembers what it was told to do."""

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


class CountedPerformer:
    """The desk's own performer, with what it was told to do."""

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


class Killed(Exception):
    """What kill -9 looks like from inside: nothing after this is written."""


class MortalStore(InMemoryStore):
    """Dies right after a given number of facts; a second life takes the same record up."""

    def __init__(self, lifetime: int) -> None:
        super().__init__()
        self.lifetime = lifetime

    async def append_many(self, session: str, events: Sequence[Event], lease: Lease | None = None) -> list[Recorded]:
        if lease is not None:
            if self.lifetime < len(events):
                self.lifetime = 0
                raise Killed
            self.lifetime -= len(events)
        return await super().append_many(session, events, lease)


class House:
    """One session and everything around it."""

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
        self.performer: Remembering = CountingPerformer(self.store) if workspace is None else CountedPerformer()
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
        """Put the charter on the record."""
        templates = {name: await self.store.keep(text) for name, text in templates_of(self.rules).items()}
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
        """Open or resume, whichever the record says."""
        with TemporaryDirectory() as home:
            folder = self.workspace.parent if self.workspace else Path(home)
            places = Places(folder, folder)
            async with await Roundtable.open(
                self.workspace or places.nothing,
                places,
                Settings(self.config),
                store=self.store,
                voices=self._other_voices or self.voices,
                performer=self.performer,
            ) as desk:
                self.feed = desk.parts.feed
                if isinstance(self.performer, CountedPerformer):
                    self.performer.target = Wiring(desk.parts, self.store).performer
                return await desk.meetings.run(SESSION, lambda _: self.meeting)

    async def records(self) -> list[Recorded]:
        """The facts so far."""
        return await self.store.read(SESSION)

    async def session(self) -> Session:
        """The fold so far."""
        return Session.fold(SESSION, await self.records())


def templates_of(rules: Meeting) -> dict[str, bytes]:
    """The prompts of a meeting as they are shipped."""
    folder = resources.files("roundtable.meetings").joinpath("prompts", rules.name)
    return {name: folder.joinpath(f"{name}.md").read_bytes() for name in rules.templates}


def answer(position: str, confidence: int = 7, text: str = "Because.") -> str:
    """A blind answer as a model writes it."""
    return f'{text}\n\n```json\n{{"position": "{position}", "confidence": {confidence}}}\n```'


def again(stand: str, *, error: str = "", position: str = "", text: str = "On reflection.") -> str:
    """A second answer as a model writes it."""
    block = f'{{"stand": "{stand}", "position": "{position}", "error": "{error}", "evidence": [], "confidence": 6}}'
    return f"{text}\n\n```json\n{block}\n```"


def ratings(**given: str) -> str:
    """A ballot as a model writes it."""
    inside = ", ".join(f'"{label}": "{word}"' for label, word in given.items())
    return f'{{"ratings": {{{inside}}}}}'


def seat_script(blind: str, ballot: str = "", reconsider: str = "", second: str = "") -> dict[str, Any]:
    """One seat's part of a council."""
    turns: list[dict[str, Any]] = [{"round": "*1-blind", "text": blind}]
    turns += [{"round": "*2-ballot", "text": ballot}] if ballot else []
    turns += [{"round": "*3-reconsider", "text": reconsider}] if reconsider else []
    turns += [{"round": "*4-reconsider", "text": second or reconsider}] if reconsider else []
    return {"turns": turns}


# With seed 7 the seats are drawn as: gpt A, claude B, gemini C.
DISPUTE: dict[str, Any] = {
    "seats": {
        "claude": seat_script(
            answer("Use REST"), ratings(A="opposed", B="same", C="opposed"), again("B", text="REST still.")
        ),
        "gpt": seat_script(
            answer("Use GraphQL"),
            ratings(A="same", B="opposed", C="opposed"),
            again("A", text="GraphQL still."),
            again("B", error="I overlooked that the clients are few", text="REST after all."),
        ),
        "gemini": seat_script(
            answer("Use tRPC"),
            ratings(A="opposed", B="acceptable", C="same"),
            again("B", error="tRPC needs TypeScript on both sides", text="REST, then."),
        ),
    }
}
"""Three positions, two cross-readings, and a decision for REST in the end."""
