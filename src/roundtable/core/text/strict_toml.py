"""Strict reading of TOML and JSON texts: an unknown key is an error that names the nearest known key."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from typing import Any, TypeVar, cast

import msgspec
from msgspec.inspect import (
    DictType,
    EnumType,
    ListType,
    LiteralType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

from roundtable.core.faults import ConfigError
from roundtable.core.text.wording import did_you_mean_text

T = TypeVar("T")

MAX_NESTING = 64
NESTED_TOO_DEEP = f"tables and lists are nested more than {MAX_NESTING} levels deep"
_DEEP_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_NESTING}}}""")
"""A dotted key with more parts than tables may be nested."""
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`")
_WRONG_TYPE = re.compile(r"Expected `(?P<wanted>[^`]+)`, got `(?P<got>[^`]+)`")
_WRONG_VALUE = re.compile(r"Invalid enum value '?(?P<word>.*?)'?")
_OUT_OF_BOUNDS = re.compile(r"Expected `(?:int|float)` (?P<side>[<>])= (?P<bound>\S+)")
_MISSING_FIELD = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_PATH_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?:\d+|\.\.\.)\]")
_TYPE_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_ACTUAL_TYPE_NAMES = {**_TYPE_NAMES, "float": "a fraction"}


def convert_toml_table_to_struct(kind: type[T], data: object, where: str) -> T:
    """Convert plain data into a struct, or raise one sentence that says which key of `where` is wrong."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{where}: {_explain_error(str(error), kind)}", _suggest_correction(str(error), kind)
        ) from None


def _explain_error(message: str, kind: object) -> str:
    """Return the message of a decoding error as a sentence for people."""
    problem, _, place = message.partition(" - at `$")
    place = place.rstrip("`")
    name = ".".join(step["field"] for step in _PATH_STEP.finditer(place) if step["field"])
    if types := _WRONG_TYPE.fullmatch(problem):
        wanted = " or ".join(_TYPE_NAMES.get(kind, kind) for kind in types["wanted"].split(" | ") if kind != "null")
        entry = f"an entry of {name}" if name else "an entry"
        subject = entry if place.endswith("]") else name or "the value"
        return f"{subject} must be {wanted}, not {_ACTUAL_TYPE_NAMES.get(types['got'], types['got'])}."
    if invalid := _WRONG_VALUE.fullmatch(problem):
        return (
            f"{name or 'the value'} cannot be {invalid['word']}; "
            f"allowed values: {', '.join(_list_allowed_values(kind, place))}."
        )
    if out_of_bounds := _OUT_OF_BOUNDS.fullmatch(problem):
        direction = "more" if out_of_bounds["side"] == ">" else "less"
        return f"{name or 'the value'} must be {out_of_bounds['bound']} or {direction}."
    if missing := _MISSING_FIELD.fullmatch(problem):
        return f"{missing['name']} is missing{f' in {name}' if name else ''}."
    if unknown := _UNKNOWN_FIELD.fullmatch(problem):
        problem = f"there is no setting {unknown['name']}"
    return f"{problem} in {name}." if name else f"{problem}."


def _suggest_correction(message: str, kind: object) -> str:
    unknown = _UNKNOWN_FIELD.match(message)
    if unknown is None:
        return "Correct it and try again."
    place = message.partition(" - at `$")[2].rstrip("`")
    known = [
        field.encode_name
        for item in _find_types_at(kind, place)
        if isinstance(item, StructType)
        for field in item.fields
    ]
    return did_you_mean_text(unknown["name"], known).strip() or f"Known keys there: {', '.join(known)}."


def _list_allowed_values(kind: object, place: str) -> list[str]:
    """Return the values that are allowed at a place."""
    values: list[str] = []
    for item in _find_types_at(kind, place):
        match item:
            case EnumType():
                values += [str(member.value) for member in item.cls]
            case LiteralType():
                values += map(str, item.values)
            case _:
                pass
    return values


def _find_types_at(kind: object, place: str) -> list[Type]:
    """Return the types that are allowed at a decoder's path such as `.turns[0].fault`."""
    types = _expand_union(type_info(kind))
    for step in _PATH_STEP.finditer(place):
        types = [
            item
            for outer in types
            for inner in _find_member_types(outer, step["field"])
            for item in _expand_union(inner)
        ]
    return types


def _expand_union(kind: Type) -> list[Type]:
    return list(kind.types) if isinstance(kind, UnionType) else [kind]


def _find_member_types(outer: Type, field: str | None) -> list[Type]:
    match outer:
        case StructType():
            return [member.type for member in outer.fields if member.encode_name == field]
        case DictType():
            return [outer.value_type]
        case VarTupleType() | ListType():
            return [outer.item_type]
        case _:
            return []


def decode_utf8_text(raw: bytes, where: str) -> str:
    """Decode bytes as UTF-8, or raise an error that names the first invalid line."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{where} is not valid UTF-8 in line {line}.", "Save it as UTF-8.") from None


def parse_toml_with_depth_limit(text: str) -> dict[str, Any]:
    """Parse TOML; tables and lists that are nested too deeply are a TOMLDecodeError too."""
    if _DEEP_KEY.search(text):  # the parser needs quadratic time for such a key
        raise tomllib.TOMLDecodeError(NESTED_TOO_DEEP)
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(NESTED_TOO_DEEP) from None
    if _is_nested_too_deep(data):
        raise tomllib.TOMLDecodeError(NESTED_TOO_DEEP)
    return data


def parse_json_with_depth_limit(text: str | bytes) -> object:
    """Parse JSON; objects and lists that are nested too deeply are a DecodeError too."""
    try:
        data: object = msgspec.json.decode(text)
    except RecursionError:
        raise msgspec.DecodeError(NESTED_TOO_DEEP) from None
    if _is_nested_too_deep(data):
        raise msgspec.DecodeError(NESTED_TOO_DEEP)
    return data


def _is_nested_too_deep(data: object) -> bool:
    """Whether a value contains more than MAX_NESTING levels of tables and lists; uses no recursion."""
    level = [data]
    for _ in range(MAX_NESTING):
        inner = (
            cast("dict[str, object]", item).values() if isinstance(item, dict) else cast("list[object]", item)
            for item in level
            if isinstance(item, dict | list)
        )
        level = [*chain.from_iterable(inner)]
    return any(isinstance(item, dict | list) for item in level)


def parse_toml_text(raw: bytes, where: str, *, json: bool = False) -> dict[str, Any]:
    """Parse bytes as a TOML or JSON table; an error names the line."""
    text = decode_utf8_text(raw, where)
    try:
        data = parse_json_with_depth_limit(text) if json else parse_toml_with_depth_limit(text)
    except (msgspec.DecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{where} is not valid {'JSON' if json else 'TOML'}: {error}.", "Correct the file.") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{where} must contain a JSON object.", "Put all keys into one object.")
    return cast(dict[str, Any], data)
