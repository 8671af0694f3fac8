"""Is what was loaded what the last commit spoke of?

Law: a file of which parts are older than others may be a sound database and no sound store. Each
commit tells how much there is of all; who goes on with a store, or reports on it, compares first.
After a crawl that was cut off, what the commits do not tell is compared with each other as well.
"""

from collections.abc import Iterator

import numpy as np

from minicrawl.frontier.pages import Frontier
from minicrawl.model import READ_STATES
from minicrawl.store import columns, questions, tables


def prove(frontier: Frontier, connection: tables.Connection) -> None:
    """Raises ValueError if it is not; a store of an earlier minicrawl may have said less."""
    said = tables.counters(connection)
    known = frontier.tally() | {tables.FETCHES: tables.fetches_known(connection)}
    for name, found in known.items():
        if said.get(name, found) != found:
            raise ValueError(f"{name} are {found}, {said[name]} by the last commit")
    if (urls := questions.pages_known(connection)) != len(frontier):
        raise ValueError(f"{urls} URLs are known, but {len(frontier)} pages were born")
    if frontier.origins and len(frontier.origins) != questions.hosts_known(connection):
        raise ValueError("hosts lack rows")  # whoever meets no URLs has not loaded them


def contradictions(frontier: Frontier, connection: tables.Connection) -> Iterator[str]:
    """What the tables of pages and of fetches say of each other, and do not agree on."""
    undescribed = np.isin(frontier.states(), READ_STATES)
    for pages, _ in columns.contents(connection):
        undescribed[pages] = False
    if count := int(np.count_nonzero(undescribed)):
        yield f"{count} pages were read, and nothing is kept of what they said"
    if count := questions.documents_without_fetch(connection):
        yield f"{count} pages that were never asked for are described"
    indexed, known = questions.fetches_indexed(connection), tables.fetches_known(connection)
    if indexed != known:
        yield f"{known} fetches are known, and {indexed} are found by their page"
