"""The vocabulary: values, events, the fold of a session, effects, changesets, ports and faults.."""
