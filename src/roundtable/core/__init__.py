"""The vocabulary: values, events, effects, ports, the fold of a session, queries on stages, changes and handover."""
