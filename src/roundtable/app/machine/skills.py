"""The skill that teaches coding agents when to call the table: where to install it, and which phrases call it.

The installed file contains its own digest, so that a foreign or edited file is recognized and left alone.

Phrases are matched by rules that the skill also states in words. Names and lists of names are first replaced by signs,
so that a rule reads "ask ONE" or "ask MANY", in English and in Chinese. Naming one model never calls the table.
"""

from __future__ import annotations

import os
import re
import shutil
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from roundtable.core.faults import NotFound, UsageError

SKILL_NAME = "roundtable"
SKILL_FILE = "SKILL.md"
_MARK_LINE = "<!-- Written by `roundtable skill install`, {}. -->\n"


class SkillAgent(msgspec.Struct, frozen=True):
    """An agent that reads skills, from the person's `home` or the folder in `variable`, and from a project."""

    name: str
    home: str
    project: str
    variable: str = ""
    below: str = ""

    def find_skill_folder(self, project: Path | None = None) -> Path:
        """Return the folder of the skill."""
        base = self._find_home() if project is None else project / self.project
        return base / "skills" / SKILL_NAME

    def _find_home(self) -> Path:
        configured = os.environ.get(self.variable, "") if self.variable else ""
        return Path(configured).expanduser() / self.below if configured else Path.home() / self.home


SKILL_AGENTS = {
    reader.name: reader
    for reader in (
        SkillAgent("claude", ".claude", ".claude", "CLAUDE_CONFIG_DIR"),
        SkillAgent("codex", ".codex", ".codex", "CODEX_HOME"),
        SkillAgent("gemini", ".gemini", ".gemini"),
        SkillAgent("opencode", ".config/opencode", ".opencode", "XDG_CONFIG_HOME", "opencode"),
    )
}
"""Each of these was seen to list an installed skill."""


def build_machine_agent_skill() -> str:
    """Return the installed text of the skill: its words and the digest mark."""
    words = (
        resources.files("roundtable.app.machine")
        .joinpath("skill_texts", f"{SKILL_NAME}.md")
        .read_text(encoding="utf-8")
    )
    return words + _MARK_LINE.format(_compute_skill_digest(words))


def find_machine_skill_agents(names: tuple[str, ...]) -> list[SkillAgent]:
    """Return the named agents, or those found on this machine."""
    if unknown := [name for name in names if name not in SKILL_AGENTS]:
        raise NotFound(
            f"Roundtable cannot write skills for the agent {unknown[0]}.",
            f"Supported agents: {', '.join(SKILL_AGENTS)}.",
        )
    agents = [SKILL_AGENTS[name] for name in names] or [
        reader for reader in SKILL_AGENTS.values() if shutil.which(reader.name)
    ]
    if not agents:
        raise NotFound(
            "No agent that reads skills was found on this machine.",
            f"Name an agent with `--agent`: {', '.join(SKILL_AGENTS)}.",
        )
    return agents


def install_agent_skill(reader: SkillAgent, project: Path | None = None, *, force: bool = False) -> Path:
    """Write the skill atomically; a foreign or edited file is kept unless forced."""
    path = _check_skill_folder(reader, project) / SKILL_FILE
    if os.path.lexists(path) and not force and not _is_own_skill_file(path):
        raise UsageError(
            f"{path} was not written by Roundtable, or was edited later.", "Add `--force` to replace the file."
        )
    draft = path.with_name(f"{SKILL_FILE}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(build_machine_agent_skill(), encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(
            f"{path} cannot be written: {error.strerror}.", "Check the permissions of the folder."
        ) from None
    return path


def remove_agent_skill(reader: SkillAgent, project: Path | None = None, *, force: bool = False) -> Path | None:
    """Remove the skill if Roundtable wrote it; None if there is none."""
    path = _check_skill_folder(reader, project) / SKILL_FILE
    if not os.path.lexists(path):
        return None
    if not force and not _is_own_skill_file(path):
        raise UsageError(
            f"{path} was not written by Roundtable, or was edited later.", "Add `--force` to remove the file."
        )
    try:
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be removed: {error.strerror}.", "Check the permissions of the folder."
        ) from None
    return path


def _is_own_skill_file(path: Path) -> bool:
    """Return whether Roundtable wrote this file, in this version or another."""
    try:
        content = "" if path.is_symlink() else path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    words, mark, _ = content.rpartition(_MARK_LINE.partition("{}")[0])
    return bool(mark) and content == words + _MARK_LINE.format(_compute_skill_digest(words))


def _check_skill_folder(reader: SkillAgent, project: Path | None) -> Path:
    """Return the folder; raise an error if it is a link or leads out of the project."""
    folder = reader.find_skill_folder(project)
    if (folder / SKILL_FILE).is_dir() and not (folder / SKILL_FILE).is_symlink():
        raise UsageError(f"{folder / SKILL_FILE} is a folder.", "Move or remove the folder first.")
    if folder.is_symlink():
        raise UsageError(f"{folder} is a symbolic link.", "Remove the link first.")
    if project is not None and not folder.resolve().is_relative_to(project.resolve()):
        raise UsageError(
            f"{folder} is outside the project.", f"Replace the symbolic link {reader.project} with a folder."
        )
    return folder


def _compute_skill_digest(words: str) -> str:
    return f"sha256:{sha256(words.encode()).hexdigest()[:16]}"


PhraseRoute = Literal["table", "table+follow_up", "single", "none"]

_MODEL_NAMES = r"claude(?:\s+code)?|cc|opencode|oc|codex|chatgpt|gpt|gemini|grok|deepseek|qwen|mistral|llama"
_MODEL_NAME = rf"(?<![a-z0-9_-])(?:{_MODEL_NAMES})(?![a-z0-9_-])"
_LIST_SEPARATOR = r"\s*(?:,|、|，|&|\+|\band\b|和|与|跟|以及)\s*"
_NAME_LIST = re.compile(rf"{_MODEL_NAME}(?:(?:{_LIST_SEPARATOR})+{_MODEL_NAME})+")
_EVERYONE = re.compile(
    r"\b(?:everyone|everybody|all (?:the |our )?(?:seats|models|agents|of them)|both of them)\b|大家|所有模型"
)
_ALIASES = {"claude code": "claude", "cc": "claude", "oc": "opencode", "chatgpt": "gpt"}

_ADDRESS_PATTERNS = (
    r"\b(?:ask|show|tell|consult|give)\s+{0}",
    r"\b(?:let|have|get)\s+{0}\s+(?:both\s+|all\s+|each\s+)?(?:to\s+)?(?:take|have|look|see|check|review|read|think|weigh)\b",
    r"\bwhat\s+(?:do|does|would|did)\s+{0}\s+(?:both\s+|all\s+)?(?:think|say)\b",
    r"(?:问问?|请问?|让|叫|给)\s*{0}",
    r"{0}\s*(?:都\s*)?(?:怎么看|怎么想|怎么说|觉得|看看|看一下)",
)
_ONE_SIGN, _MANY_SIGN = "\x01", "\x02"
_ADDRESSES_ONE = re.compile("|".join(_ADDRESS_PATTERNS).format(_ONE_SIGN))
_ADDRESSES_MANY = re.compile("|".join(_ADDRESS_PATTERNS).format(_MANY_SIGN))
_CALLS_TABLE = re.compile(
    r"(?:^|[.!?;:,]\s*|\b(?:please|to|let'?s|can you|and|then)\s+)"
    r"round-?table\s+(?:this|that|it|the|these|those|our|my)\b"
    r"|\bround[-\s]?table\s+(?:meeting|discussion|review|session)\b"
    r"|\b(?:hold|have|run|call|start|convene)\s+(?:a|the)\s+round[-\s]?table\b"
    r"|\bmulti-?\s?(?:party|model|seat|agent|participant)\s+(?:review|discussion|opinion|meeting|debate)\b"
    r"|round-?table\s*一下|圆桌|多方\s*(?:review|评审|审查|讨论|会审|意见)"
)
_ASKS_FOLLOW_UP = re.compile(
    r"(?=.*\b(?:ask|again|follow[-\s]up|once more|another|round)\b)"
    r".*\bif\s+(?:they|opinions|answers|the\s+(?:two|seats|models))\s+(?:disagree|differ|diverge|are\s+split)\b"
    r"|.*(?:分歧|不一致|意见不同).{0,8}(?:追问|再问|再来|再讨论|再谈)"
)


def classify_phrase_for_agent_skill(phrase: str) -> PhraseRoute:
    """Return where a phrase belongs: the table, the table with a follow-up, one model, or none of them."""
    text = _replace_names_with_signs(" ".join(phrase.casefold().split()))
    if _ADDRESSES_ONE.search(text):
        return "single"
    if _ASKS_FOLLOW_UP.match(text):
        return "table+follow_up"
    return "table" if _CALLS_TABLE.search(text) or _ADDRESSES_MANY.search(text) else "none"


def _replace_names_with_signs(text: str) -> str:
    text = _EVERYONE.sub(
        _MANY_SIGN, _NAME_LIST.sub(lambda found: _MANY_SIGN if _names_several_models(found[0]) else _ONE_SIGN, text)
    )
    return re.sub(_MODEL_NAME, _ONE_SIGN, text)


def _names_several_models(names: str) -> bool:
    """Return whether a list names more than one model; cc and claude are one."""
    return len({_ALIASES.get(name, name) for name in re.findall(_MODEL_NAME, names)}) > 1
