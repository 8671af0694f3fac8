"""Memory limit of processes that parse untrusted data.

Law: a process that needs more ends, or its task fails; the machine is not affected.
"""

import resource

MOST_BYTES = 1 << 30
"""Limit of address space: 100 times the largest body; a PDF that needs more is a bomb."""


def limit_memory(most_bytes: int = MOST_BYTES) -> None:
    """Limit the memory of this process. A lower limit of the system is kept."""
    lower = [one for one in resource.getrlimit(resource.RLIMIT_AS) if one != resource.RLIM_INFINITY]
    most = min(most_bytes, *lower) if lower else most_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
