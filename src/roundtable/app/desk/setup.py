"""The setup part of the desk: the machine, its voices and keys, the config, and whether all of it works.

`Setup` needs neither a record nor a readable config, so it works where one of them is broken; `DeskSetup` adds what
only an open desk knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roundtable.app.settings.places import Places, find_workspace
from roundtable.core.values import Seat
from roundtable.workshop.identity import current_user_name

if TYPE_CHECKING:
    from roundtable.app.machine.discovery import DiscoveredSeat, EndpointState
    from roundtable.app.machine.doctor import DoctorReport
    from roundtable.app.machine.embedded_models import ModelState
    from roundtable.app.machine.fault_check import FaultReport, Finding
    from roundtable.app.machine.seat_check import VoiceCheckCallback
    from roundtable.app.machine.skills import PhraseRoute, SkillAgent
    from roundtable.app.settings.config import Settings
    from roundtable.app.settings.import_config import ImportedConfig
    from roundtable.app.settings.secrets import KeyState
    from roundtable.app.settings.settings_view import Setting
    from roundtable.app.settings.write_config import ConfigDraft
    from roundtable.app.wiring import Wiring


class Setup:
    """The person's places and one workspace."""

    def __init__(self, places: Places, workspace: Path) -> None:
        self.places = places
        self.workspace = workspace

    @classmethod
    def here(cls) -> Setup:
        """The setup of this person in the current folder."""
        return cls(Places.of_this_person(), find_workspace(Path.cwd()))

    # --- config ----------------------------------------------------------------------------------

    def config_path(self, *, for_person: bool) -> Path:
        """The config file of the person, or of the workspace."""
        from roundtable.app.settings.config import workspace_config_path

        return self.places.user_config if for_person else workspace_config_path(self.workspace)

    def list_settings(self) -> list[Setting]:
        """Every setting that has a value, and who set it."""
        from roundtable.app.settings.settings_view import list_settings

        return list_settings(self.places, self.workspace)

    def find_settings(self, name: str) -> list[Setting]:
        """A setting, or all those under it."""
        from roundtable.app.settings.settings_view import find_settings

        return find_settings(self.places, self.workspace, name)

    def change_setting(self, name: str, typed: str, *, for_person: bool) -> tuple[Path, str]:
        """Change one setting; returns the config file and the value as it is written there."""
        from roundtable.app.settings.settings_view import change_setting
        from roundtable.app.settings.toml_text import format_toml_value

        path, value = change_setting(self.places, self.workspace, name, typed, for_person=for_person)
        return path, format_toml_value(value)

    def settings_waiting_for_trust(self) -> dict[str, str]:
        """What the workspace's config wants to set that needs the person's trust, and to which value."""
        from roundtable.app.settings.config import list_untrusted_settings

        return list_untrusted_settings(self.workspace)

    def is_trusted(self) -> bool:
        """Whether the person trusts the workspace's config as it is now."""
        from roundtable.app.settings.config import is_workspace_trusted

        return is_workspace_trusted(self.places, self.workspace)

    def trust(self) -> None:
        """Trust the workspace's config as it is now."""
        from roundtable.app.settings.config import trust_workspace

        trust_workspace(self.places, self.workspace)

    def revoke_trust(self) -> bool:
        """Take the trust back; returns whether there was any."""
        from roundtable.app.settings.config import revoke_workspace_trust

        return revoke_workspace_trust(self.places, self.workspace)

    def draft_config(self, path: Path, settings: dict[str, Any], where: str) -> ConfigDraft:
        """What would be added to a config file for these settings; what it says already stays."""
        from roundtable.app.settings.write_config import draft_config

        return draft_config(path, settings, where)

    def write_config(self, draft: ConfigDraft, *, for_person: bool) -> bool:
        """Write a drafted config; returns whether it is trusted."""
        from roundtable.app.settings.write_config import write_config_draft

        return write_config_draft(draft, self.places, None if for_person else self.workspace)

    def find_foreign_config(self) -> Path | None:
        """The config of another tool in this workspace, which could be imported."""
        from roundtable.app.settings.import_config import find_theroundtaible_config

        return find_theroundtaible_config(self.workspace)

    def import_config(self, path: Path) -> ImportedConfig:
        """The settings in the config file of another tool."""
        from roundtable.app.settings.import_config import import_foreign_config

        return import_foreign_config(path)

    # --- keys ------------------------------------------------------------------------------------

    def list_keys(self) -> list[KeyState]:
        """The keys that are stored, and those in the environment that an endpoint uses."""
        from roundtable.app.settings.secrets import list_keys

        return list_keys(self.places, self.workspace)

    def key_name(self, given: str) -> str:
        """The name under which a key is stored, for an endpoint, a variable or a name."""
        from roundtable.app.settings.secrets import resolve_key_name

        return resolve_key_name(self.places, self.workspace, given)

    def store_key(self, given: str, typed: str) -> tuple[KeyState, bool]:
        """Store a key; also returns whether there was one before."""
        from roundtable.app.settings.secrets import store_key

        return store_key(self.places, self.workspace, given, typed)

    def remove_key(self, given: str) -> KeyState:
        """Remove a stored key."""
        from roundtable.app.settings.secrets import remove_key

        return remove_key(self.places, self.workspace, given)

    @staticmethod
    def longest_key() -> int:
        """How many characters a key may have."""
        from roundtable.app.settings.secrets import MAX_KEY_LENGTH

        return MAX_KEY_LENGTH

    @staticmethod
    def exposed_key_help() -> str:
        """What to do with a key that was typed where others can read it."""
        from roundtable.app.settings.secrets import EXPOSED_KEY_HELP

        return EXPOSED_KEY_HELP

    # --- models, skills, installation ------------------------------------------------------------

    def list_models(self) -> list[ModelState]:
        """Every embedded model, whether it is installed or can be downloaded."""
        from roundtable.app.machine.embedded_models import list_model_files_on_disk

        return list_model_files_on_disk(self.places)

    def default_model(self) -> ModelState | None:
        """The embedded model that is used where none is named, if one is installed."""
        from roundtable.app.machine.embedded_models import find_default_installed_model

        return find_default_installed_model(self.places)

    async def download_model(self, name: str, progress: Callable[[int, int], None], source: str = "") -> Path:
        """Download an embedded model, continuing an earlier download; returns at once if it is installed."""
        from roundtable.app.machine.embedded_models import download_model_file

        return await download_model_file(self.places, name, progress, source)

    def use_model(self, name: str) -> Path:
        """Use this embedded model where none is named."""
        from roundtable.app.machine.embedded_models import choose_installed_model

        return choose_installed_model(self.places, name)

    @staticmethod
    def has_model_runtime() -> bool:
        """Whether the extra that runs embedded models is installed."""
        from roundtable.app.machine.embedded_models import is_model_runtime_installed

        return is_model_runtime_installed()

    @staticmethod
    def install_command(extra: str) -> str:
        """The command that installs an extra."""
        from roundtable.app.settings.installation import render_install_command

        return render_install_command(extra)

    @staticmethod
    def typed_command() -> str:
        """The command of this product as the person can type it in this folder."""
        from roundtable.app.settings.installation import render_own_command

        return render_own_command()

    @staticmethod
    def is_on_path() -> bool:
        """Whether the command can be typed by its name alone."""
        from roundtable.app.settings.installation import COMMAND_NAME, render_own_command

        return render_own_command() == COMMAND_NAME

    @staticmethod
    def user_name() -> str:
        """The name under which this person's facts are recorded."""
        return current_user_name()

    @staticmethod
    def folder_name(question: str) -> str:
        """A folder name made of the words of a question."""
        from roundtable.app.opening.session_ids import make_session_slug

        return make_session_slug(question, "").lstrip("-")

    @staticmethod
    def skill_readers(names: tuple[str, ...] = ()) -> list[SkillAgent]:
        """The coding agents of these names that read skills, or those that are installed here."""
        from roundtable.app.machine.skills import find_installed_skill_agents

        return find_installed_skill_agents(names)

    @staticmethod
    def known_skill_readers() -> tuple[str, ...]:
        """The names of all coding agents that read skills."""
        from roundtable.app.machine.skills import SKILL_AGENTS

        return tuple(SKILL_AGENTS)

    def install_skill(self, reader: SkillAgent, *, in_project: bool, force: bool) -> Path:
        """Install the skill for a coding agent; returns the file."""
        from roundtable.app.machine.skills import install_skill

        return install_skill(reader, self.workspace if in_project else None, force=force)

    def remove_skill(self, reader: SkillAgent, *, in_project: bool, force: bool) -> Path | None:
        """Remove the skill of a coding agent; None where there is none."""
        from roundtable.app.machine.skills import remove_skill

        return remove_skill(reader, self.workspace if in_project else None, force=force)

    @staticmethod
    def skill_text() -> str:
        """The skill as it is installed."""
        from roundtable.app.machine.skills import render_skill_text

        return render_skill_text()

    @staticmethod
    def route_phrase(phrase: str) -> PhraseRoute:
        """Whether a person's words call the table, one model, or nobody."""
        from roundtable.app.machine.skills import route_skill_phrase

        return route_skill_phrase(phrase)

    # --- suggestions and checks ------------------------------------------------------------------

    @staticmethod
    def suggest(what: Literal["sessions", "meetings", "seats"]) -> list[str]:
        """What a shell may complete here; never an error."""
        from roundtable.app.machine import suggestions

        return {
            "sessions": suggestions.suggest_sessions,
            "meetings": suggestions.suggest_meetings,
            "seats": suggestions.suggest_seats,
        }[what]()

    async def examine(self, session: str = "", *, told: VoiceCheckCallback | None = None) -> DoctorReport:
        """Check the whole setup, however broken some of it is; with `told`, every seat gets one tiny question."""
        from roundtable.app.machine.doctor import run_doctor
        from roundtable.app.wiring import opened_parts

        opening = partial(opened_parts, self.workspace, self.places)
        return await run_doctor(self.places, self.workspace, opening, session, told=told)


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
        """Every voice that was found on this machine, usable or not."""
        from roundtable.app.machine.discovery import detect_machine_seats

        return await detect_machine_seats(self._parts)

    @staticmethod
    def propose_seats(found: Iterable[DiscoveredSeat]) -> tuple[Seat, ...]:
        """The seats to offer for the voices that were found."""
        from roundtable.app.machine.discovery import propose_detected_seats

        return propose_detected_seats(found)

    @staticmethod
    def embedded_seats(model: str) -> tuple[Seat, ...]:
        """Three seats on one embedded model."""
        from roundtable.app.machine.discovery import create_installed_model_seats

        return create_installed_model_seats(model)

    def remembered_seats(self) -> tuple[Seat, ...]:
        """The seats that the person chose last time."""
        from roundtable.app.machine.discovery import load_chosen_seats

        return load_chosen_seats(self._parts)

    def remember_seats(self, seats: Sequence[Seat]) -> None:
        """Remember the seats that the person chose."""
        from roundtable.app.machine.discovery import save_chosen_seats

        save_chosen_seats(self._parts, seats)

    async def list_endpoints(self) -> list[EndpointState]:
        """Every endpoint, and whether it can be used."""
        from roundtable.app.machine.discovery import detect_endpoint_states

        return await detect_endpoint_states(self._parts)

    def list_agents(self) -> dict[str, str]:
        """The agent command lines that are installed, and where."""
        from roundtable.app.machine.discovery import find_installed_agents

        return find_installed_agents(self._parts)

    def list_agents_to_check(self) -> list[str]:
        """The agents that a fault check would start, as voices."""
        from roundtable.app.machine.fault_check import list_installed_agents_to_check

        return [f"{way}:{agent.name}" for way, agent in list_installed_agents_to_check(self._parts)]

    async def check_faults(self, told: Callable[[Finding], None]) -> FaultReport:
        """Check how every kind of voice reports faults, against a local server."""
        from roundtable.app.machine.fault_check import run_doctor_fault_check

        return await run_doctor_fault_check(self._parts, told)

    def config_for(self, seats: Sequence[Seat]) -> dict[str, Any]:
        """What a new config says about these seats; it states a budget where some are paid by the token."""
        from roundtable.app.opening.opener import list_paid_voices
        from roundtable.app.settings.write_config import build_config_for_seats

        return build_config_for_seats(seats, paid=bool(list_paid_voices(self._parts.tariffs, seats)))
