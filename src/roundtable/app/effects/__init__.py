"""What the workbench is made of: drafts that are kept, candidates that are run, changes that are carried out."""
