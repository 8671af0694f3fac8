"""Long proofs: crawls that are killed, starved, attacked, soaked and fuzzed.

`python -m pytest -m proof` runs a short form of each. With LONG_PROOFS=1 it runs the long
one; the commands of the proofs run longer ones still.
"""

import os

IS_LONG = os.environ.get("LONG_PROOFS") == "1"
