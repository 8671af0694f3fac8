"""Cash that moves from the ledger of one shard to that of another.

Invariants: cash for a page of another shard is booked on the *foreign* page in the step that
settles the giver, so no atom is ever between two places. It leaves when it is sent. A ledger
holds what was minted here, minus what was sent, plus what was received.

foreign   see `ledger`: the foreign pages together are the shard's outbox
sending   the cash of the foreign pages of one shard, and a part of the pot, leaves for that shard
receipt   cash from another shard is credited to the pages, or to the pages that they redirect to
"""

from collections.abc import Callable, Sequence

from minicrawl.opic.ledger.ledger import FOREIGN, UNREAD, Ledger
from minicrawl.opic.ledger.money import UNIT


def disown(ledger: Ledger, newborn: Sequence[int]) -> None:
    """Mark newborn pages as pages of other shards, which mint their units."""
    if any(ledger.flags[page] != UNREAD or ledger.key[page] != UNIT for page in newborn):
        raise ValueError(
            "only newborn pages can be marked as foreign: one has spent or received cash"
        )
    for page in newborn:
        ledger.flags[page], ledger.key[page] = FOREIGN, 0
    ledger.own -= len(newborn)
    ledger.unread -= len(newborn)
    ledger.minted -= len(newborn) * UNIT


def send(ledger: Ledger, pages: Sequence[int], atoms: Sequence[int], of_pot: int) -> None:
    """Remove the cash of these foreign pages, and `of_pot` atoms of the pot: it was sent."""
    if any(ledger.flags[page] != FOREIGN for page in pages):
        raise ValueError("cannot send cash of own pages to another shard")
    if [ledger.key[page] for page in pages] != list(atoms):
        raise ValueError("batch out of date: its amounts differ from the cash of its pages")
    if of_pot < 0 or of_pot > max(0, ledger.virtual_page.pot):
        raise ValueError(f"the pot holds {ledger.virtual_page.pot} atoms, not {of_pot}")
    for page in pages:
        ledger.key[page] = 0
    ledger.virtual_page.pot -= of_pot
    ledger.abroad += sum(atoms) + of_pot


def receive(
    ledger: Ledger,
    stands_for: Callable[[int], int],
    pages: Sequence[int],
    atoms: Sequence[int],
    to_pot: int,
) -> None:
    """Credit cash received from another shard to these pages, and `to_pot` to the pot."""
    if min(atoms, default=0) < 0 or to_pot < 0:
        raise ValueError("negative amount in a received batch")
    for page, cash in zip(pages, atoms, strict=True):
        ledger.key[stands_for(page)] += cash
    ledger.virtual_page.pot += to_pot
    ledger.abroad -= sum(atoms) + to_pot
