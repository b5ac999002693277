"""`make bench-faults`: what comes of a table of three when one seat fails, ours beside the peers in the same run."""
