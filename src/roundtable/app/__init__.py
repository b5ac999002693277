"""The desk: config, wiring and the Roundtable façade."""
