"""What a meeting may cost, estimated before anything is spent."""
