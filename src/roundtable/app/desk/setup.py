"""The `setup` part of the desk: the machine, its voices and keys, the config, and checks of all of it.

`Setup` needs neither a record nor a readable config, so it works even if one of them is broken; `DeskSetup` adds
what needs an open desk.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roundtable.app.settings.places import Places, find_workspace
from roundtable.core.values import Seat
from roundtable.workshop.identity import os_user_name

if TYPE_CHECKING:
    from roundtable.app.machine.discovery import DiscoveredSeat, EndpointState
    from roundtable.app.machine.doctor import DoctorReport
    from roundtable.app.machine.embedded_models import ModelState
    from roundtable.app.machine.fault_check import FaultReport, Finding
    from roundtable.app.machine.seat_check import VoiceCheckCallback
    from roundtable.app.machine.skills import PhraseRoute, SkillAgent
    from roundtable.app.parts import Parts
    from roundtable.app.settings.config import Settings
    from roundtable.app.settings.import_config import ImportedConfig
    from roundtable.app.settings.secrets import KeyState
    from roundtable.app.settings.settings_view import Setting
    from roundtable.app.settings.trust import TrustRequest
    from roundtable.app.settings.write_config import ConfigDraft
    from roundtable.app.wiring import Wiring


class Setup:
    """The setup of one person in one workspace."""

    def __init__(self, places: Places, workspace: Path) -> None:
        self.places = places
        self.workspace = workspace

    @classmethod
    def here(cls) -> Setup:
        """Return the setup of the current user in the current folder."""
        return cls(Places.of_this_person(), find_workspace(Path.cwd()))

    # --- config ----------------------------------------------------------------------------------

    def config_path(self, *, for_person: bool) -> Path:
        """Return the path of the person's config, or of the workspace's."""
        from roundtable.app.settings.config import workspace_config_path

        return self.places.user_config if for_person else workspace_config_path(self.workspace)

    def list_settings(self) -> list[Setting]:
        """Return every setting that has a value, with its source."""
        from roundtable.app.settings.settings_view import list_settings

        return list_settings(self.places, self.workspace)

    def find_settings(self, name: str) -> list[Setting]:
        """Return a setting, or all settings of a section."""
        from roundtable.app.settings.settings_view import find_settings

        return find_settings(self.places, self.workspace, name)

    def change_setting(self, name: str, typed: str, *, for_person: bool) -> tuple[Path, str]:
        """Change one setting; return the config file and the value as it is written there."""
        from roundtable.app.settings.settings_view import change_setting
        from roundtable.app.settings.toml_text import format_setting_value_as_toml

        path, value = change_setting(self.places, self.workspace, name, typed, for_person=for_person)
        return path, format_setting_value_as_toml(value)

    def find_trust_request(self) -> TrustRequest:
        """Return what trust in the workspace permits, whether the person gave it, and what changed since."""
        from roundtable.app.settings.config import find_trust_request

        return find_trust_request(self.places, self.workspace)

    def trust(self, request: TrustRequest, *, may_exceed_limits: bool) -> None:
        """Trust the files of a request, which the person has seen."""
        from roundtable.app.settings.config import trust_workspace

        trust_workspace(self.places, self.workspace, request, may_exceed_limits=may_exceed_limits)

    def revoke_trust(self) -> bool:
        """Revoke the trust; return whether the workspace was trusted."""
        from roundtable.app.settings.trust import TrustList

        return TrustList(self.places).remove(self.workspace)

    def draft_config(self, settings: dict[str, Any], *, for_person: bool) -> ConfigDraft:
        """Draft the additions to a config file for these settings; existing settings are kept."""
        from roundtable.app.settings.write_config import ConfigDraft

        path = self.config_path(for_person=for_person)
        return ConfigDraft.of(path, None if for_person else self.workspace, settings)

    def write_config(self, draft: ConfigDraft, *, for_person: bool) -> bool:
        """Write a drafted config; return whether it is trusted."""
        return draft.write(self.places, None if for_person else self.workspace)

    def find_foreign_config(self) -> Path | None:
        """Return the config file of another tool in this workspace, if there is one to import."""
        from roundtable.app.settings.import_config import find_theroundtaible_config

        return find_theroundtaible_config(self.workspace)

    def import_config(self, path: Path) -> ImportedConfig:
        """Return the settings in the config file of another tool."""
        from roundtable.app.settings.import_config import import_foreign_config

        return import_foreign_config(path)

    # --- keys ------------------------------------------------------------------------------------

    def list_keys(self) -> list[KeyState]:
        """Return the stored keys, and the keys in the environment that an endpoint uses."""
        from roundtable.app.settings.secrets import list_keys

        return list_keys(self.places, self.workspace)

    def key_name(self, given: str) -> str:
        """Return the name of the stored key for an endpoint, a variable or a name."""
        from roundtable.app.settings.secrets import resolve_key_name

        return resolve_key_name(self.places, self.workspace, given)

    def store_key(self, given: str, typed: str) -> tuple[KeyState, bool]:
        """Store a key; return its state, and whether it replaced another key."""
        from roundtable.app.settings.secrets import store_key

        return store_key(self.places, self.workspace, given, typed)

    def remove_key(self, given: str) -> KeyState:
        """Remove a stored key."""
        from roundtable.app.settings.secrets import remove_key

        return remove_key(self.places, self.workspace, given)

    @staticmethod
    def longest_key() -> int:
        """Return the maximum number of characters of a key."""
        from roundtable.app.settings.secrets import MAX_KEY_LENGTH

        return MAX_KEY_LENGTH

    @staticmethod
    def exposed_key_help() -> str:
        """Return what to do about a key that was typed where others can read it."""
        from roundtable.app.settings.secrets import EXPOSED_KEY_HELP

        return EXPOSED_KEY_HELP

    # --- models, skills, installation ------------------------------------------------------------

    def list_models(self) -> list[ModelState]:
        """Return every embedded model, installed or not."""
        from roundtable.app.machine.embedded_models import list_machine_models

        return list_machine_models(self.places)

    def default_model(self) -> ModelState | None:
        """Return the default embedded model, if one is installed."""
        from roundtable.app.machine.embedded_models import find_default_machine_model

        return find_default_machine_model(self.places)

    async def download_model(self, name: str, progress: Callable[[int, int], None], source: str = "") -> Path:
        """Download an embedded model, or continue an earlier download; return its file."""
        from roundtable.app.machine.embedded_models import install_machine_model

        return await install_machine_model(self.places, name, progress, source)

    def use_model(self, name: str) -> Path:
        """Make this embedded model the default."""
        from roundtable.app.machine.embedded_models import set_default_machine_model

        return set_default_machine_model(self.places, name)

    @staticmethod
    def has_model_runtime() -> bool:
        """Return whether the extra that runs embedded models is installed."""
        from roundtable.app.machine.embedded_models import machine_has_model_runtime

        return machine_has_model_runtime()

    @staticmethod
    def install_command(extra: str) -> str:
        """Return the command that installs an extra."""
        from roundtable.app.settings.installation import Installation

        return Installation.install_command(extra)

    @staticmethod
    def typed_command() -> str:
        """Return the command that starts Roundtable in this folder."""
        from roundtable.app.settings.installation import Installation

        return Installation.own_command()

    @staticmethod
    def is_on_path() -> bool:
        """Return whether `roundtable` is on the PATH."""
        from roundtable.app.settings.installation import COMMAND_NAME, Installation

        return Installation.own_command() == COMMAND_NAME

    @staticmethod
    def user_name() -> str:
        """Return the name of the current user in the record."""
        return os_user_name()

    @staticmethod
    def folder_name(question: str) -> str:
        """Return a folder name made of the words of a question."""
        from roundtable.core.text.slugs import make_slug_from_text

        return make_slug_from_text(question, "").lstrip("-")

    @staticmethod
    def skill_readers(names: tuple[str, ...] = ()) -> list[SkillAgent]:
        """Return the coding agents with these names that read skills; without names, the installed ones."""
        from roundtable.app.machine.skills import find_machine_skill_agents

        return find_machine_skill_agents(names)

    @staticmethod
    def known_skill_readers() -> tuple[str, ...]:
        """Return the names of all coding agents that read skills."""
        from roundtable.app.machine.skills import SKILL_AGENTS

        return tuple(SKILL_AGENTS)

    def install_skill(self, reader: SkillAgent, *, in_project: bool, force: bool) -> Path:
        """Install the skill for a coding agent; return its file."""
        from roundtable.app.machine.skills import install_agent_skill

        return install_agent_skill(reader, self.workspace if in_project else None, force=force)

    def remove_skill(self, reader: SkillAgent, *, in_project: bool, force: bool) -> Path | None:
        """Remove the skill of a coding agent; return its file, or None if there was none."""
        from roundtable.app.machine.skills import remove_agent_skill

        return remove_agent_skill(reader, self.workspace if in_project else None, force=force)

    @staticmethod
    def skill_text() -> str:
        """Return the text of the skill."""
        from roundtable.app.machine.skills import build_machine_agent_skill

        return build_machine_agent_skill()

    @staticmethod
    def route_phrase(phrase: str) -> PhraseRoute:
        """Return whether a person's words ask for the table, for one model, or for neither."""
        from roundtable.app.machine.skills import classify_phrase_for_agent_skill

        return classify_phrase_for_agent_skill(phrase)

    # --- suggestions and checks ------------------------------------------------------------------

    @staticmethod
    def suggest(what: Literal["sessions", "meetings", "seats"]) -> list[str]:
        """Return the words that a shell may complete here; never raises."""
        from roundtable.app.machine.suggestions import Suggestions

        suggestions = Suggestions(Places.of_this_person(), find_workspace(Path.cwd()))
        return {"sessions": suggestions.sessions, "meetings": suggestions.meetings, "seats": suggestions.seats}[what]()

    async def examine(self, session: str = "", *, on_check: VoiceCheckCallback | None = None) -> DoctorReport:
        """Check the whole setup, even if parts of it are broken; with `on_check`, ask every seat one short question."""
        from roundtable.app.machine.doctor import run_machine_doctor

        return await run_machine_doctor(self.places, self.workspace, self._open_parts, session, on_check=on_check)

    @asynccontextmanager
    async def _open_parts(self) -> AsyncGenerator[Parts]:
        from roundtable.app.wiring import Wiring

        wiring = await Wiring.open(self.workspace, self.places)
        try:
            yield wiring.parts
        finally:
            await wiring.close()


class DeskSetup(Setup):
    """The setup of an open desk."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring.parts.places, wiring.parts.workspace)
        self._parts = wiring.parts

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._parts.settings

    async def discover(self) -> list[DiscoveredSeat]:
        """Return the seats that this machine offers, usable or not."""
        from roundtable.app.machine.discovery import detect_machine_seats

        return await detect_machine_seats(self._parts)

    @staticmethod
    def propose_seats(found: Iterable[DiscoveredSeat]) -> tuple[Seat, ...]:
        """Return the seats to offer for the detected voices."""
        from roundtable.app.machine.discovery import propose_machine_seats

        return propose_machine_seats(found)

    @staticmethod
    def embedded_seats(model: str) -> tuple[Seat, ...]:
        """Return three seats on one embedded model."""
        from roundtable.app.machine.discovery import create_machine_model_seats

        return create_machine_model_seats(model)

    def remembered_seats(self) -> tuple[Seat, ...]:
        """Return the seats that the person chose last time."""
        from roundtable.app.settings.configured_seats import ChosenSeats

        return ChosenSeats(self.places).load()

    def remember_seats(self, seats: Sequence[Seat]) -> None:
        """Store the seats that the person chose."""
        from roundtable.app.settings.configured_seats import ChosenSeats

        ChosenSeats(self.places).save(seats)

    async def list_endpoints(self) -> list[EndpointState]:
        """Return every endpoint, and whether it can be used."""
        from roundtable.app.machine.discovery import detect_machine_endpoint_states

        return await detect_machine_endpoint_states(self._parts)

    def list_agents(self) -> dict[str, str]:
        """Return the installed agent command lines with their paths."""
        from roundtable.app.machine.discovery import find_machine_agents

        return find_machine_agents(self._parts)

    def list_agents_to_check(self) -> list[str]:
        """Return the agents that a fault check would start, as voices."""
        from roundtable.app.machine.fault_check import list_machine_agents_to_check

        return [f"{way}:{agent.name}" for way, agent in list_machine_agents_to_check(self._parts)]

    async def check_faults(self, on_finding: Callable[[Finding], None]) -> FaultReport:
        """Check how every kind of voice reports faults, against a local server; `on_finding` receives each result."""
        from roundtable.app.machine.fault_check import run_machine_fault_check

        return await run_machine_fault_check(self._parts, on_finding)

    def config_for(self, seats: Sequence[Seat]) -> dict[str, Any]:
        """Return the settings of a new config with these seats; it has a budget if some are paid by the token."""
        from roundtable.app.settings.write_config import build_config_for_seats

        return build_config_for_seats(seats, paid=bool(self._parts.tariffs.list_paid_voices(seats)))
