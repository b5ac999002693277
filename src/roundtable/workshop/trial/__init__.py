"""How candidates are run and judged: checks, tests, examples, and inputs that tell them apart."""
