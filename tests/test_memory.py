"""A process that reads what strangers sent takes no more memory than it may."""

import subprocess
import sys

_CODE = """
import resource
from minicrawl.memory import limit_memory
resource.setrlimit(resource.RLIMIT_AS, (int({lower}), resource.RLIM_INFINITY))
limit_memory(1 << 29)
print(resource.getrlimit(resource.RLIMIT_AS)[0])
try:
    bytes(1 << 30)
except MemoryError:
    print("too much")
"""


def limit_with(lower: str) -> list[str]:
    command = (sys.executable, "-c", _CODE.format(lower=lower))
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")


def test_a_process_takes_no_more_than_it_may() -> None:
    assert limit_with("resource.RLIM_INFINITY")[:2] == [str(1 << 29), "too much"]


def test_a_lower_limit_of_the_system_stays() -> None:
    assert limit_with("1 << 28")[:2] == [str(1 << 28), "too much"]
