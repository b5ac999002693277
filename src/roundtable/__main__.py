"""`python -m roundtable` is the command line."""

from roundtable.cli.main import main

if __name__ == "__main__":
    main()
