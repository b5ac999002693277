"""Code as a tree: what a file is made of, and one symbol of it replaced, added or taken out."""
