"""The desk: everything a door can do is a handful of calls here. Only this room knows concrete classes."""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from roundtable.app.effects.agent_worktrees import LocalAgentWorktrees
from roundtable.app.effects.file_requests import FileRequests
from roundtable.app.effects.performer import EffectPerformer
from roundtable.app.machine.judge_voices import with_judges
from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.apply_source import APPLY_MEETING, build_apply_agenda
from roundtable.app.opening.context_files import store_context_file
from roundtable.app.opening.context_window import ContextRoom, compute_context_room, compute_longest_answer
from roundtable.app.opening.meeting_catalog import CatalogMeeting, MeetingCatalog, find_charter_rules
from roundtable.app.opening.opening_context import ContextGatherer
from roundtable.app.opening.preflight import check_meeting_can_write, describe_unwritable_files
from roundtable.app.opening.stage_lists import StageListCatalog, fill_stage_settings, raise_round_limit_for_stages
from roundtable.app.records import branch
from roundtable.app.records.memory import WorkspaceMemory
from roundtable.app.records.session_ids import make_session_slug, new_session_id
from roundtable.app.records.undo_change import recover_interrupted_changes
from roundtable.app.records.workspace_files import FolderWrite, WorkspaceFolder
from roundtable.app.runs.hooks import HookRunner
from roundtable.app.runs.live_socket import LiveServer
from roundtable.app.runs.watch import watch_session
from roundtable.app.settings import config as settings
from roundtable.app.settings.places import Places, workspace_of
from roundtable.app.settings.secrets import Keys
from roundtable.core.decide import decrees
from roundtable.core.events import (
    CancelAsked,
    ContinueAsked,
    Delta,
    Event,
    GateAnswered,
    NoteSaid,
    PauseAsked,
    Recorded,
    SessionAmended,
    SessionOpened,
    StopAsked,
)
from roundtable.core.faults import Fault, NotFound, NotTrusted, UsageError
from roundtable.core.index import LAST_SESSION, SessionRow
from roundtable.core.ledger import Entry
from roundtable.core.session import Session
from roundtable.core.stages import SDLC_MEETING, is_own_words_answer
from roundtable.core.values import Charter, ContextItem, Decision, Limits, Quorum, Seat
from roundtable.engine.feed import Feed
from roundtable.engine.run import Engine
from roundtable.meetings import Meeting
from roundtable.store.leases import current_lease_holder
from roundtable.store.sqlite import SqliteStore
from roundtable.store.stored_events import compute_digest
from roundtable.voices.agents.catalog import with_own
from roundtable.voices.agents.workdirs import SEAT_VARIABLE
from roundtable.voices.endpoints import Endpoint, merged, own_endpoint, shipped_endpoints
from roundtable.voices.registry import VoiceRegistry
from roundtable.voices.tariffs import Tariffs
from roundtable.workshop.identity import current_user_name
from roundtable.workshop.trial.listed_checks import ListedChecks

if TYPE_CHECKING:
    from roundtable.app.effects.workshop_effects import WorkshopPerformer

MOST_OPTIONS = 26


class Roundtable:
    """The product as a library. `async with await Roundtable.open() as desk: …`"""

    def __init__(
        self,
        places: Places,
        workspace: Path,
        loaded: settings.Settings,
        endpoints: dict[str, Endpoint],
        keys: Keys,
        store: SqliteStore,
    ) -> None:
        self.places = places
        self.workspace = workspace
        self.settings = loaded
        self.endpoints = endpoints
        self.store = store
        self.keys = keys
        self.redactor = keys.redactor
        self.settled: tuple[str, ...] = ()
        """What a process that ended had left half written here, and what became of it; a sentence each."""
        self.opened_in = ""
        """The workspace in which the person stands, where that is another one."""
        self.folder = WorkspaceFolder(workspace)
        self.hooks = HookRunner(loaded.config.hooks.commands(), workspace, store)
        self.memory = WorkspaceMemory(store, store, keys, self.here, loaded.config.memory, self._memory_written)
        self.feed = Feed(self.redactor)
        self.agents = partial(with_own, loaded.config.agents)
        self.voices = VoiceRegistry(
            endpoints, keys.resolve, models_dir=places.models, workspace=workspace, agents=self.agents
        )
        self.tariffs = Tariffs(endpoints, self.agents, os.environ)
        config = loaded.config
        requests = FileRequests(store, self.redactor, workspace, config.context.ignore, self._room)
        checks = ListedChecks(config.checks, workspace, self.redactor, config.sandbox)
        self.performer = EffectPerformer(requests, checks, self._hold_child, self._workbench)
        self._gathering = ContextGatherer(self.redactor, workspace, config.context.ignore, tuple(config.checks))
        trusted = partial(settings.is_trusted, places, workspace)
        self._meetings = MeetingCatalog(places, workspace, trusted)
        self.stages = StageListCatalog(places, workspace, trusted)
        self.workplaces = LocalAgentWorktrees(places.worktrees, workspace, config.worktrees)
        self.engine = Engine(store, store, self.voices, self.performer, self.feed, self._beside_a_run, self.workplaces)

    @classmethod
    async def open(
        cls, workspace: Path | None = None, places: Places | None = None, loaded: settings.Settings | None = None
    ) -> Roundtable:
        """Sit down at the desk of this person, in this workspace; with `loaded`, no config is read."""
        places = places or Places.of_this_person()
        workspace = workspace_of(workspace or Path.cwd())
        loaded = loaded or settings.load(places, workspace)
        own = [own_endpoint(name, data) for name, data in loaded.config.endpoints.items()]
        endpoints = merged(shipped_endpoints().values(), own)
        keys = Keys(places, endpoints.values())
        store = await SqliteStore.open(places.database, keys.redactor)
        desk = cls(places, workspace, loaded, endpoints, keys, store)
        desk.settled = await recover_interrupted_changes(store, workspace, places.journals)
        return desk

    async def close(self) -> None:
        """Close voices and the record."""
        await self.voices.close()
        await self.store.close()

    async def __aenter__(self) -> Roundtable:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- opening and running ---------------------------------------------------------------------

    async def convene(self, agenda: Agenda) -> str:
        """Agree on a charter and put it on the record; nothing is asked yet."""
        charter, texts = await self.draft(agenda)
        self.absent_from(agenda)
        writes = self.meeting(agenda.meeting).rules.writes_files
        await check_meeting_can_write(self.workspace, charter, self.settings.config.sandbox, writes_files=writes)
        session = new_session_id()
        slug = make_session_slug(charter.question, datetime.now(UTC).strftime("%Y-%m-%d"))
        opened = SessionOpened(msgspec.structs.replace(charter, slug=slug))
        await asyncio.gather(*(self.store.keep(text) for text in texts), self.store.append(session, opened))
        return await self._told(session, opened)

    async def apply(self, session: str, agenda: Agenda) -> str:
        """Open the meeting that carries out what a session decided; its question and what it lacks come from there."""
        limits = agenda.limits or self.usual_limits(APPLY_MEETING)
        wanted = msgspec.structs.replace(agenda, limits=limits)
        return await self.convene(build_apply_agenda(await self.session(session), wanted))

    async def draft(self, agenda: Agenda) -> tuple[Charter, list[bytes]]:
        """The charter an agenda comes to, and the texts it refers to; nothing is on the record yet."""
        self.keys.learn_all()
        config = self.settings.config
        meeting = self.meeting(agenda.meeting)
        rules = meeting.rules
        seats = agenda.seats or self.usual_seats(agenda.meeting)
        limits = agenda.limits or self.usual_limits(agenda.meeting)
        _check_agenda(agenda, seats, rules, limits)
        filled = agenda.settings
        if rules.name == SDLC_MEETING:
            filled = fill_stage_settings(
                filled, seats, compute_longest_answer(self.tariffs, seats, limits), agenda.answers
            )
            limits = raise_round_limit_for_stages(limits, filled)
        told = settings.meeting_settings(rules, config.meetings.get(rules.name, {}) | meeting.settings, filled)
        judging = any(it.turns.judging for it in rules.planned_rounds(told, agenda.options))
        seats = with_judges(seats, self.endpoints) if judging else seats
        if limits.budget_usd == 0 and (paid := self.paid_voices(seats, judging=judging)):
            raise UsageError(
                f"A budget of $0 leaves free voices and plans, and {paid[0]} may be paid by the token.",
                "Allow some money; a server of your own that costs nothing gets `local = true` in its [endpoints].",
            )
        prompts = self._meetings.prompts(meeting, config.language)
        recalled, untold = ((), ()) if agenda.fresh else await self.memory.recalled(agenda.question)
        charter = Charter(
            question=self.redactor.redact(agenda.question),
            seats=tuple(seats),
            meeting=rules.name,
            version=rules.version,
            options=agenda.options,
            settings=told,
            limits=limits,
            recalled=tuple(recalled),
            untold=tuple(untold),
            templates={name: compute_digest(text) for name, text in prompts.items()},
            name=agenda.name,
            workspace=str(self.workspace),
            opened_in=self.opened_in,
            owner=current_user_name(),
            language=config.language,
            headless=agenda.headless,
            answers=agenda.answers,
            seed=random.SystemRandom().getrandbits(48) if agenda.seed is None else agenda.seed,
        )
        room = self._room(charter, judging=judging)
        gathered = await self._gathering.gather(
            agenda, room, project=rules.shows_project, may_ask=not rules.writes_files
        )
        context = tuple(ContextItem(name, compute_digest(data), len(data)) for name, data in gathered.shown.items())
        unsaved = partial(describe_unwritable_files, self.workspace, charter, gathered.shown)
        notices = (*gathered.notices, *(await asyncio.to_thread(unsaved) if rules.writes_files else ()))
        charter = msgspec.structs.replace(charter, context=context, notices=notices)
        return charter, [*gathered.shown.values(), *prompts.values()]

    def _room(self, charter: Charter, *, judging: bool = False) -> ContextRoom:
        """How much can be put before these seats, and before their judges."""
        most = self.settings.config.context.tokens
        return compute_context_room(self.tariffs, charter.seats, charter.limits, most, judging=judging)

    async def run(self, session: str) -> Decision:
        """Hold a session's meeting to its end, from wherever its record stands."""
        return await self.engine.run(session, find_charter_rules, current_lease_holder())

    @asynccontextmanager
    async def _beside_a_run(self, session: str) -> AsyncGenerator[None]:
        """Others may listen, the workspace's folder is kept current, and hooks are told."""
        live = LiveServer(self.places.socket(session), session, self.feed)
        folder = self.folder.following(session, self.store, self.feed, self.remembered)
        async with live, folder, self.hooks.following(session, self.feed):
            yield

    def cannot_speak(self, seats: Sequence[Seat]) -> dict[str, str]:
        """The seats none of whose voices can be had (no program, no key, no such endpoint), and why."""
        lacking: dict[str, str] = {}
        for seat in seats:
            faults = [found for voice in seat.voices if isinstance(found := self.voices.find(voice), Fault)]
            if len(faults) == len(seat.voices):
                lacking[seat.name] = " ".join(f"{it.message} {it.help}" for it in faults) or "It has no voice."
        return lacking

    def absent_from(self, agenda: Agenda) -> dict[str, str]:
        """The seats that cannot speak, and why; a meeting without its quorum is refused before anybody is paid."""
        seats = agenda.seats or self.usual_seats(agenda.meeting)
        quorum = (agenda.limits or self.usual_limits(agenda.meeting)).quorum
        lacking = self.cannot_speak(seats)
        speaking, needed = len(seats) - len(lacking), max(1, min(quorum.seats, len(seats)))
        essential = [name for name in quorum.essential if name in lacking]
        if lacking and (speaking < needed or essential):
            what = ", ".join(essential) or needed
            raise UsageError(
                f"{speaking} of {len(seats)} seats can speak, and the quorum needs {what}.",
                "\n".join(f"Seat {name} cannot speak: {why}" for name, why in lacking.items()),
            )
        return lacking

    def paid_voices(self, seats: Sequence[Seat], *, judging: bool = False) -> list[str]:
        """The voices of these seats that are paid by the token; with those of their judges where some are judging."""
        voices = dict.fromkeys(voice for seat in seats for voice in seat.voice_chain(judging=judging))
        return [voice for voice in voices if self.tariffs.of(voice).paid == "tokens"]

    def watch(self, session: str, after: int = 0, *, here: bool = False) -> AsyncGenerator[Recorded | Delta]:
        """Follow a session: the record, then what is being said, then live; here or in another process.

        `here` is for whoever runs it in this process but may begin to watch before the run has begun.
        """
        return watch_session(self.store, self.feed, self.places.socket(session), session, after, here)

    def _workbench(self) -> WorkshopPerformer:
        from roundtable.app.effects.workshop_effects import WorkshopPerformer

        return WorkshopPerformer(self.store, self.workspace, self.feed, self.places, self.settings.config, self._room)

    async def _hold_child(self, session: str, charter: Charter) -> Decision:
        if not await self.store.read(session):
            await self.store.append(session, SessionOpened(charter))
        return await self.run(session)

    # --- what people say -------------------------------------------------------------------------

    async def say(self, session: str, text: str, to: Sequence[str] = (), by: str = "") -> Recorded:
        """Put a note to the table; seats hear it at their next turn. `by` says so where the person did not type it."""
        return await self._take_down(session, NoteSaid(text, by=by or current_user_name(), to=tuple(to)))

    async def _take_down(self, session: str, words: Event) -> Recorded:
        """Put a person's own words on the record; no key may be among them."""
        self.keys.learn_all()
        return await self.store.append(session, words)

    async def answer(
        self, session: str, gate: str, option: str, text: str = "", by: str = "", *, by_program: bool = False
    ) -> Recorded:
        """Answer a gate; `by` says so where no person did. What lets something be written, no program may answer."""
        state = await self.session(session)
        known = state.gates.get(gate)
        if known is None:
            raise NotFound(f"This session has no gate called {gate}.", "`roundtable show` lists its gates.")
        if known.writes and (by_program or SEAT_VARIABLE in os.environ):
            raise UsageError(
                f"Gate {gate} lets something be written, and only the person may answer it.",
                f"Ask them to answer it at their terminal: roundtable answer {state.charter.slug} {gate}=OPTION",
            )
        if option not in known.options:
            raise UsageError(f"{option} is not an answer to {gate}.", f"Choose one of: {', '.join(known.options)}.")
        if is_own_words_answer(known, option) and not text.strip():
            raise UsageError(f"`{option}` says nothing without your words.", "Add them as the answer's text (--text).")
        if gate in state.answers:
            raise UsageError(f"Gate {gate} was already answered with {state.answers[gate].option}.")
        return await self._take_down(session, GateAnswered(gate, option, text, by or current_user_name()))

    async def pause(self, session: str) -> Recorded:
        """Let no new turn start."""
        return await self.store.append(session, PauseAsked(by=current_user_name()))

    async def unpause(self, session: str) -> Recorded:
        """Let a paused session go on."""
        return await self.store.append(session, ContinueAsked(by=current_user_name()))

    async def stop_run(self, session: str) -> Recorded:
        """End the program that a session runs now; the session goes on."""
        return await self.store.append(session, StopAsked(by=current_user_name()))

    async def cancel(self, session: str, reason: str = "") -> Recorded:
        """End a session now, and the meetings held under it; what was said so far is kept."""
        recorded = await self._take_down(session, CancelAsked(by=current_user_name(), reason=reason))
        for row in await self.store.children(session):
            if not row.outcome and not row.forgotten_at:
                await self.cancel(row.id, reason)
        return recorded

    async def amend(self, session: str, amendment: SessionAmended) -> Recorded:
        """Change the charter in the open; it takes effect with the next round."""
        if amendment.name == LAST_SESSION:
            raise UsageError(f"A session cannot be called {LAST_SESSION}: that always means the newest one.")
        known = {seat.name for seat in (await self.session(session)).charter.seats}
        for name in (*amendment.seats_on, *amendment.seats_off):
            if name not in known:
                raise NotFound(f"There is no seat {name} at this table.", f"Seats: {', '.join(sorted(known))}.")
        return await self._take_down(session, amendment)

    async def add_context(self, session: str, path: str) -> Recorded:
        """Put a file before the table from the next round on."""
        self.keys.learn_all()
        item = await store_context_file(self.store, self.redactor, self.workspace, path)
        return await self.amend(session, SessionAmended(by=current_user_name(), context_added=(item,)))

    async def branch(self, session: str, before_round: str) -> str:
        """A new session that shares the record up to a round and goes its own way from there."""
        return await self._told(*await branch.branch_before_round(self.store, session, before_round))

    async def rollback(self, session: str, stage: str, instructions: str = "") -> str:
        """The same from before a stage, which is told what is to be different."""
        self.keys.learn_all()
        return await self._told(*await branch.branch_before_stage(self.store, session, stage, instructions))

    async def _told(self, session: str, opened: SessionOpened) -> str:
        """Let the hooks know of a new session."""
        await self.hooks.tell(session, opened)
        return session

    # --- looking up ------------------------------------------------------------------------------

    async def session(self, session: str) -> Session:
        """One session as it stands."""
        records = await self.store.read(session)
        if not records:
            raise NotFound(f"There is no session {session}.", "`roundtable list` shows the sessions there are.")
        return Session.fold(session, records)

    async def sessions(self, *, everywhere: bool = False, limit: int | None = 100) -> list[SessionRow]:
        """The sessions that belong to this workspace or were opened in it, newest first."""
        return await self.store.sessions(None if everywhere else self.here, limit)

    async def sync(self) -> FolderWrite:
        """Write the workspace's folder anew from the record."""
        return await self.folder.sync(self.store, self.here, self.remembered)

    async def _memory_written(self) -> None:
        await self.folder.remember(self.remembered)

    async def remembered(self) -> list[Entry]:
        """Everything this workspace remembers of its meetings."""
        return await self.memory.entries(limit=None)

    async def find(self, address: str) -> str:
        """A session by id, slug, unique beginning of either, name in this workspace (its newest session), or `last`."""
        found = await self.store.find(address, self.here)
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{address} fits {len(found)} sessions.", "Give more of it: `roundtable list`.")
        if address == LAST_SESSION:
            start = 'Start one: roundtable discuss "…". `roundtable list --all` shows those of other workspaces.'
            raise NotFound("There are no sessions in this workspace yet.", start)
        raise NotFound(f"There is no session {address}.", "`roundtable list` shows the sessions there are.")

    @property
    def here(self) -> str:
        """This workspace as the record has it, which keeps no key even where a folder is called like one."""
        return self.redactor.redact(str(self.workspace))

    async def holder(self, session: str) -> str | None:
        """The live process that runs a session, if there is one."""
        return await self.store.holder(session)

    def meetings(self) -> list[CatalogMeeting]:
        """Every meeting one can ask for here: shipped, presets, the person's own and a trusted workspace's."""
        return self._meetings.listed()

    def meeting(self, name: str = "") -> CatalogMeeting:
        """A meeting by name, or the usual one."""
        return self._meetings.find(name or self.settings.config.table.meeting)

    def usual_seats(self, meeting: str = "") -> tuple[Seat, ...]:
        """Who sits there if the person names nobody: the configured seats, else those of the preset."""
        return self.configured_seats() or self.meeting(meeting).seats

    def usual_limits(self, meeting: str = "") -> Limits:
        """The configured limits, with what a preset or a data file sets over them, or the meeting's own quorum."""
        chosen = self.meeting(meeting)
        limits = settings.limits_with(self.settings.config.limits, chosen.limits, f"meeting {chosen.name}")
        return limits if limits.quorum != Quorum() else msgspec.structs.replace(limits, quorum=chosen.rules.quorum)

    def configured_seats(self) -> tuple[Seat, ...]:
        """The seats the config names, in its order."""
        config = self.settings.config
        names = config.table.seats or tuple(name for name, seat in config.seats.items() if seat.enabled)
        if self.settings.withheld and not names:
            raise self._untrusted()
        return tuple(self._seat(name) for name in names)

    def _untrusted(self) -> NotTrusted:
        return NotTrusted(
            f"This workspace's config sets {', '.join(self.settings.withheld)}, and you have not trusted it.",
            "Read .roundtable/config.toml, then run `roundtable trust`.",
        )

    def _seat(self, name: str) -> Seat:
        seat = self.settings.config.seats.get(name)
        if seat is None or not seat.voices:
            if self.settings.withheld:
                raise self._untrusted()
            raise NotFound(
                f"Seat {name} has no voices in the config.", f'Add [seats.{name}] with voices = ["endpoint:model"].'
            )
        fields = {key: value for key, value in msgspec.structs.asdict(seat).items() if key != "enabled"}
        return Seat(name=name, **fields)


def _check_agenda(agenda: Agenda, seats: Sequence[Seat], rules: Meeting, limits: Limits) -> None:
    names = [seat.name for seat in seats]
    if not agenda.question.strip():
        raise UsageError("The question is empty.", "Say what it is about.")
    if len(seats) < rules.minimum_seats:
        needed = f"{rules.minimum_seats} seats" if rules.minimum_seats > 1 else "a seat"
        alone = " To ask one seat alone: roundtable discuss --seat NAME=VOICE." if rules.minimum_seats > 1 else ""
        raise UsageError(
            f"The meeting {rules.name} needs at least {needed}.", f"Add some with --seat NAME=VOICE.{alone}"
        )
    if len(set(names)) != len(names):
        raise UsageError("Two seats have the same name.", "Give each --seat a name of its own.")
    if limits.quorum.seats > max(len(seats), Quorum().seats):
        raise UsageError(f"A quorum of {limits.quorum.seats} cannot be met by {len(seats)} seats.", "Lower the quorum.")
    if absent := set(limits.quorum.essential) - set(names):
        raise UsageError(f"The quorum needs {', '.join(sorted(absent))}, who is not at the table.", "Seat it, or not.")
    gates = (*rules.gates, decrees.DECREE_GATE)
    if unknown := {id for id in agenda.answers if id not in gates and not _asked_again(id, gates)}:
        known = f"Its gates: {', '.join(gates)}."
        raise UsageError(f"The meeting {rules.name} has no gate called {', '.join(sorted(unknown))}.", known)
    for id, answer in agenda.answers.items():
        allowed = rules.advance_answers.get(re.sub(r"-\d+$", "", id), (answer,))
        if answer not in allowed:
            raise UsageError(f"{answer} cannot be answered ahead to {id}.", f"Choose one of: {', '.join(allowed)}.")
    if len(set(agenda.options)) != len(agenda.options) or len(agenda.options) == 1:
        raise UsageError("Options must be at least two, and all different.")
    if len(agenda.options) > MOST_OPTIONS:
        raise UsageError(f"There are more than {MOST_OPTIONS} options.", "Ask for fewer.")


def _asked_again(gate: str, gates: Sequence[str]) -> bool:
    """Whether it is one of these gates under a number of its own: `decide-2`, where there is `decide`."""
    stem, _, number = gate.rpartition("-")
    return number.isdecimal() and stem in {re.sub(r"-\d+$", "", known) for known in gates}


async def hold(desk: Roundtable, agenda: Agenda) -> tuple[str, Decision]:
    """Convene and run in one go, for library users."""
    session = await desk.convene(agenda)
    return session, await desk.run(session)


__all__ = ["Agenda", "Roundtable", "hold"]
