"""A door for other programs: the Model Context Protocol, over standard input and output or local HTTP."""
