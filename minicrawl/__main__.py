"""Entry point of the command line: `minicrawl`, and `python -m minicrawl`.

Ctrl-C while modules are imported ends with one line, as it does later. So nothing is imported here.
"""

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        from minicrawl.cli import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("minicrawl: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
