"""One module per contestant; `worker.py` runs any of them in a process of its own."""
