"""Every fact is read back from the record unchanged."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roundtable.core.events import SCHEMA_VERSION, UnknownEvent
from roundtable.store.stored_events import LONG_TEXT_BYTES, pack_event_for_store, unpack_stored_event

texts = st.text(max_size=20) | st.text('aé🟢"\n', min_size=1, max_size=5).map(lambda text: text * LONG_TEXT_BYTES)
keys = st.sampled_from(["$blob", "$$blob", "$", "text", ""])
trees = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(keys, children, max_size=4),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(trees)
def test_long_texts_are_stored_separately_and_restored(tree: Any) -> None:
    event = UnknownEvent("anything.told", {"tree": tree})
    body = pack_event_for_store(event, None)
    assert body.event == event
    assert unpack_stored_event(body.data, SCHEMA_VERSION, body.blobs.__getitem__ if body.blobs else None) == event
    assert all(len(blob) > LONG_TEXT_BYTES for blob in body.blobs.values())
