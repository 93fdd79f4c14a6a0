"""`python -m nearer.cli` is the program `nearer`."""

import sys

from nearer.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
