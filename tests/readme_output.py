"""`python -m tests.readme_output`: run the examples of README and write down what they print."""

import tempfile
from pathlib import Path

from tests.readme import README, with_fresh_output


def refresh(readme: Path) -> None:
    """Give every example in the file the output that its command has now."""
    text = readme.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        readme.write_text(with_fresh_output(text, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    refresh(README)
