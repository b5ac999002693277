"""`python -m roundtable` is the command line."""

from roundtable.doors.cli.main import main

if __name__ == "__main__":
    main()
