"""An event as one line of JSON."""

from __future__ import annotations

import json

import pytest

from roundtable.core.events import (
    SCHEMA_VERSION,
    NoteSaid,
    Recorded,
    build_event_schemas,
    event_from_json,
    event_to_json,
)
from roundtable.core.faults import RecordTooNew


@pytest.mark.feature("S1.75")
def test_every_event_is_json_with_the_version_of_its_schema() -> None:
    recorded = Recorded(1, "2026-11-15T18:00:00.000000Z", "s", NoteSaid("Mind the budget."))
    line = event_to_json(recorded)
    fields = json.loads(line)
    assert (fields["v"], fields["kind"], fields["text"]) == (SCHEMA_VERSION, "note.said", "Mind the budget.")
    assert build_event_schemas()["schema_version"] == SCHEMA_VERSION
    assert event_from_json(line) == recorded
    with pytest.raises(RecordTooNew, match=f"version {SCHEMA_VERSION + 1}"):
        event_from_json(json.dumps({**fields, "v": SCHEMA_VERSION + 1}))
