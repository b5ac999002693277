"""The workshop: turns decisions into files that are tested, reviewed and approved."""
