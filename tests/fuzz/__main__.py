"""`python -m tests.fuzz`: run the fuzz job, print the number of cases, and exit with 1 if a reader failed."""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.job import fuzz_readers
from tests.fuzz.readers import READERS


def main() -> int:
    """Run the job as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to run (600)")
    parser.add_argument("--cases", type=int, default=0, help="stop after this many cases")
    parser.add_argument("--seed", type=int, default=None, help="repeat an earlier run (random)")
    parser.add_argument("--reader", action="append", choices=sorted(READERS), default=[], help="only this reader")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    print(f"Seed {seed}, {len(options.reader or READERS)} readers.", flush=True)
    report = fuzz_readers(seed, options.seconds, options.cases, options.reader)
    for problem in report.problems:
        print(f"\n{problem.reader}: {problem.what}\n  text: {problem.text!r}")
    print(f"{report.cases:,} cases, {len(report.problems)} problems. Seed {seed}.")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
