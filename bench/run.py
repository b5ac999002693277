"""`make bench`: install the peers, measure everybody in turns, print a table, write a JSON, an SVG and a report."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path


def main() -> int:
    """Run the bench; a missed target is an error only under --strict."""
    from bench.figures import Target
    from bench.peers import install_peers, versions
    from bench.processes import BenchError, ModelServer, alone
    from bench.report import machine, result
    from bench.suite import Bench, Plan

    options = _options()
    began = time.monotonic()
    try:
        with alone() as home:
            peers = install_peers()
            with ModelServer() as server:
                series = Bench(server, peers, home, Plan.quick() if options.quick else Plan(), say).run()
            measured = result(series, versions(peers), machine())
    except BenchError as error:
        say("")
        print(f"Error: {error}", file=sys.stderr)
        return 1
    say("")
    _write(measured, time.monotonic() - began)
    missed: list[Target] = [target for target in measured.targets if not target.met]
    return 1 if options.strict and missed else 0


def _write(measured: object, seconds: float) -> None:
    import msgspec

    from bench.plot import plot
    from bench.processes import OUT
    from bench.report import Result, table

    assert isinstance(measured, Result)
    text = table(measured)
    print(text)
    (OUT / "result.json").write_bytes(msgspec.json.format(msgspec.json.encode(measured)))
    (OUT / "plot.svg").write_text(plot(measured))
    (OUT / "report.md").write_text(f"# Bench\n\n{text}\n![plot](plot.svg)\n")
    print(f"Took {seconds:.0f} s. Written: result.json, plot.svg and report.md in {OUT}.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats: to see that it works")
    parser.add_argument("--strict", action="store_true", help="fail when a target is missed")
    return parser.parse_args()


def say(line: str) -> None:
    """What is being measured, on one line that a terminal overwrites."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    sys.exit(main())
