"""Is what was loaded what the last commit spoke of?

Law: a file of which parts are older than others may be a sound database and no sound store. Each
commit tells how much there is of all; who goes on with a store, or reports on it, compares first.
"""

from minicrawl.frontier.pages import Frontier
from minicrawl.store import questions, tables


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
