"""The bench's arithmetic, table and picture; how fast anything is, is the bench's own business."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest
from bench.figures import Spread, Target, exponent, union
from bench.growth import SIZES
from bench.plot import plot
from bench.report import Result, result, table
from bench.server import Call, ending, event, prompt_bytes
from bench.suite import CONTESTANTS, SESSIONS, STREAMS, Series


@pytest.fixture
def measured() -> Result:
    costs = {"cpu": 0.001, "stored": 1000, "prompt": 300}
    pair = {"ours": [0.02, 0.03], "floor": [0.01, 0.02]}
    return result(
        Series(
            overhead={key: [0.01, 0.02, 0.03] for key in SESSIONS},
            wall={key: [0.61] for key in SESSIONS},
            busy={key: [0.6] for key in SESSIONS},
            prompt_bytes=dict.fromkeys(SESSIONS, 8000),
            token_cpu={name: {streams: [1e-4] for streams in STREAMS} for name in CONTESTANTS},
            import_seconds={name: [0.2] for name in CONTESTANTS},
            memory={name: [61e6] for name in CONTESTANTS},
            help_wall=pair,
            help_cpu=pair,
            opening=pair,
            curves={
                str(n): [{round: {k: v * n for k, v in costs.items()} for round in ("blind", "reading")}] for n in SIZES
            },
        ),
        {"langgraph": "1.0"},
        {"cores": 2, "load": 0.5, "python": "3.11", "sync_ms": 1.0},
    )


def test_busy_time_counts_overlap_once() -> None:
    assert union([(3, 4), (0, 1), (0.5, 2), (1, 1.5)]) == 3
    assert union([]) == 0


def test_spread_is_the_median_with_quartiles() -> None:
    assert Spread.of([1, 2, 3, 4, 5]) == Spread(3, 2, 4, 5)
    assert Spread.of([7]) == Spread(7, 7, 7, 1)


@pytest.mark.parametrize("power", [1, 2])
def test_growth_is_described_by_its_exponent(power: int) -> None:
    assert exponent(SIZES, [5.0 * size**power for size in SIZES]) == pytest.approx(power)


def test_missed_targets_are_named(measured: Result) -> None:
    by_name = {target.name: target for target in measured.targets}
    memory = by_name["peak memory of the 7-call session, --json"]
    assert memory == Target("peak memory of the 7-call session, --json", 61, 60, " MB")
    assert not memory.met
    assert by_name["opening 2,000 moves / reading their rows"].met


def test_the_bench_table_names_every_product_and_target(measured: Result) -> None:
    text = table(measured)
    for words in (*CONTESTANTS.values(), "20.0 (15.0–25.0)", "FAIL", "pass", "noisy", "seats^1.00"):
        assert words in text


def test_picture_is_well_formed(measured: Result) -> None:
    root = ET.fromstring(plot(measured))
    words = " ".join(root.itertext())
    assert "LangGraph" in words
    assert "FAIL" in words


def test_server_speaks_in_chunked_events() -> None:
    size, _, rest = event("session", {"content": "word"}).partition(b"\r\n")
    data = rest.removesuffix(b"\r\n")
    assert int(size, 16) == len(data)
    assert json.loads(data.removeprefix(b"data: "))["choices"][0]["delta"] == {"content": "word"}
    assert ending(Call({"model": "session", "stream": True}, 0, 0.0), 1).endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")


def test_server_counts_what_a_model_reads() -> None:
    parts = [{"type": "text", "text": "é"}, {"type": "text", "text": "b"}]
    assert prompt_bytes({"messages": [{"content": "abc"}, {"content": parts}, {"content": None}]}) == 6
