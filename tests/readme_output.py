"""`python -m tests.readme_output`: run the examples of the documents, write down what they print.

An example that still shows what its command prints stays as it is.
"""

import tempfile
from pathlib import Path

from tests.readme import MANUAL, README, examples, make_demo, needs_the_demo, with_fresh_output


def refresh(document: Path) -> None:
    """Write the present output of each example into the file."""
    text = document.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if needs_the_demo(text):
            make_demo(folder)
        document.write_text(with_fresh_output(text, folder), encoding="utf-8")


if __name__ == "__main__":
    for document in (README, *MANUAL):
        if examples(document.read_text(encoding="utf-8")):
            refresh(document)
