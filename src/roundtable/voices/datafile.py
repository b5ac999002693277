"""Strict reading of data files: what a file says and we do not know is an error that names the nearest known key."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from roundtable.core.faults import ConfigError

T = TypeVar("T")

_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_WRONG_TYPE = re.compile(r"Expected `(?P<wanted>[^`]+)`, got `(?P<got>[^`]+)`")
_WRONG_WORD = re.compile(r"Invalid enum value '?(?P<word>.*?)'?")
_LACKING = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_INDEX = re.compile(r"\[\d+\]")
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def nearest(word: str, known: Iterable[str]) -> str:
    """` Did you mean X?`, or nothing where nothing is near."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean `{close[0]}`?" if close else ""


def fill(kind: type[T], data: object, where: str, structs: tuple[type[msgspec.Struct], ...]) -> T:
    """Turn plain data into a Struct, or say in one sentence which key of `where` is wrong."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {in_words(str(error))}", _advice(str(error), structs)) from None


def in_words(complaint: str) -> str:
    """What a decoder complains about, as a sentence for people."""
    what, _, place = complaint.partition(" - at `$")
    name = _INDEX.sub("", place.rstrip("`").replace("[...]", ".NAME")).lstrip(".")
    if types := _WRONG_TYPE.fullmatch(what):
        wanted = " or ".join(_TYPES.get(kind, kind) for kind in types["wanted"].split(" | ") if kind != "null")
        return f"{name or 'it'} must be {wanted}, not {_TYPES.get(types['got'], types['got'])}."
    if odd := _WRONG_WORD.fullmatch(what):
        return f"{name or 'it'} cannot be {odd['word']}."
    if lacking := _LACKING.fullmatch(what):
        return f"{f'{name} has' if name else 'there is'} no {lacking['name']}."
    what = what.replace("Object contains unknown field", "unknown key")
    return f"{what} in {name}." if name else f"{what}."


def _advice(message: str, structs: tuple[type[msgspec.Struct], ...]) -> str:
    known = sorted({field.encode_name for struct in structs for field in msgspec.structs.fields(struct)})
    found = _UNKNOWN.search(message)
    near = nearest(found.group(1), known) if found else ""
    return near.strip() or f"Known keys: {', '.join(known)}."


def read_table(path: Path) -> dict[str, Any]:
    """The table in a TOML or JSON file."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    return parse_table(raw, str(path), json=path.suffix.lower() == ".json")


def parse_table(raw: bytes, where: str, *, json: bool = False) -> dict[str, Any]:
    """The table in some bytes, with the line of the mistake where there is one."""
    try:
        data = msgspec.json.decode(raw) if json else tomllib.loads(raw.decode())
    except (msgspec.DecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where} is not valid {'JSON' if json else 'TOML'}: {error}.", "Correct the file.") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{where} holds no table.", "Write it as one object.")
    return cast(dict[str, Any], data)
