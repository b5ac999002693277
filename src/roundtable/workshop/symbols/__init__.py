"""Source code as symbols: parse files, map a project, and replace, add, remove or merge single symbols."""
