"""Cash that goes from the ledger of one shard to that of another.

Laws: what a page gives to a page of another shard is on the *foreign* page in the same step that
settles the giver, so that no atom is between two places. It leaves when it is sent. What a ledger
holds is what was minted here, less what was sent, plus what was received.

foreign   see `ledger`: all of them together are the shard's outbox
sending   what foreign pages of one shard hold, and a part of the pot, leaves for that shard
receipt   what another shard sent is on the pages; one that stands for another page passes it on
"""

from collections.abc import Callable, Sequence

from minicrawl.opic.ledger import FOREIGN, UNREAD, Ledger
from minicrawl.opic.money import UNIT


def disown(ledger: Ledger, newborn: Sequence[int]) -> None:
    """These, which were just born, are pages of other shards: their units are minted there."""
    if any(ledger.flags[page] != UNREAD or ledger.key[page] != UNIT for page in newborn):
        raise ValueError("only a page that was just born can be found to be of another shard")
    for page in newborn:
        ledger.flags[page], ledger.key[page] = FOREIGN, 0
    ledger.own -= len(newborn)
    ledger.unread -= len(newborn)
    ledger.minted -= len(newborn) * UNIT


def send(ledger: Ledger, pages: Sequence[int], atoms: Sequence[int], of_pot: int) -> None:
    """All that these foreign pages hold, and so much of the pot, leaves."""
    if any(ledger.flags[page] != FOREIGN for page in pages):
        raise ValueError("only cash of foreign pages can be sent to other shards")
    if [ledger.key[page] for page in pages] != list(atoms):
        raise ValueError("the sending is out of date: its pages do not hold what it says")
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
    """So much came for these pages, and for the pot."""
    if min(atoms, default=0) < 0 or to_pot < 0:
        raise ValueError("nobody sends less than nothing")
    for page, cash in zip(pages, atoms, strict=True):
        ledger.key[stands_for(page)] += cash
    ledger.virtual_page.pot += to_pot
    ledger.abroad -= sum(atoms) + to_pot
