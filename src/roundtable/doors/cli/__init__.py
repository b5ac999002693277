"""The command line: a door that shows and asks, and decides nothing."""
