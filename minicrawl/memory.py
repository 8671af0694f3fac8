"""How much memory a process may take that reads what strangers sent.

Law: a process that needs more ends, or its task fails, and the machine does not notice.
"""

import resource

MOST_BYTES = 1 << 30
"""Of address space: a hundred times the largest body, and a PDF that unpacks to more is a bomb."""


def limit_memory(most_bytes: int = MOST_BYTES) -> None:
    """This process takes no more from now on. A lower limit of the system stays."""
    lower = [one for one in resource.getrlimit(resource.RLIMIT_AS) if one != resource.RLIM_INFINITY]
    most = min(most_bytes, *lower) if lower else most_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
