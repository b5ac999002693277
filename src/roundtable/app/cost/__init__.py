"""What a meeting may cost, said before it is spent."""
