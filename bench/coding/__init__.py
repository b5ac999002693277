"""Judging code by running it, on real candidates and real tests of a model: `make bench-code`."""
