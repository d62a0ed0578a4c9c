"""``python -m discreto``: the command line."""

from discreto.cli import main

if __name__ == "__main__":
    main()
