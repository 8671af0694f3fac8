"""Command that names the pages that are out of date, or writes all."""

import sys

from tests.reference import stale, write


def main(arguments: list[str]) -> int:
    if arguments == ["--write"]:
        write()
    for name in (names := stale()):
        sys.stdout.write(f"{name} is out of date\n")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
