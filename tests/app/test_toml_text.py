"""A setting written to a config file is read back, and nothing else in the file changes."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roundtable.app.settings.toml_text import format_setting_value_as_toml, set_setting_in_config_text
from roundtable.core.faults import ConfigError

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(NAMES, inside, max_size=3),
    max_leaves=6,
)


@given(st.lists(NAMES, min_size=1, max_size=3), VALUES)
def test_a_written_setting_is_read_back_and_nothing_else_in_the_file_changes(path: list[str], value: Any) -> None:
    before = '# head\nkept = "yes" # really\n\n[other]\nlist = [1,\n2]\n'
    try:
        after = set_setting_in_config_text(before, tuple(path), value, "file")
    except ConfigError:
        return
    assert tomllib.loads(f"value = {format_setting_value_as_toml(value)}")["value"] == value
    read: Any = tomllib.loads(after)
    for name in path:
        read = read[name]
    assert read == value
    if path[0] not in ("kept", "other"):
        assert '# head\nkept = "yes" # really\n' in after
        assert "[other]\nlist = [1,\n2]\n" in after
