"""Numbers in sentences."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 page`, `2,000 pages`, `1 index`, `2 indices`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
