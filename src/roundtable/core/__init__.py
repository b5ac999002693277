"""The vocabulary: values, events, ports, faults, verdicts, rules and views. Imports nothing of ours, does no I/O."""
