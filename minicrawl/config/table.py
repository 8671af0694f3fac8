"""The table of settings: all rows, section by section, in the order of the help."""

from minicrawl.config.rows.access import ACCESS_ROWS
from minicrawl.config.rows.cluster import CLUSTER_ROWS
from minicrawl.config.rows.connection import CONNECTION_ROWS
from minicrawl.config.rows.crawl import BUDGET_ROWS, SCOPE_ROWS, TRAP_ROWS
from minicrawl.config.rows.order import ORDER_ROWS
from minicrawl.config.rows.render import RENDER_ROWS
from minicrawl.config.rows.request import LIMIT_ROWS, NETWORK_ROWS, POLITENESS_ROWS
from minicrawl.config.rows.store import STORE_ROWS
from minicrawl.config.setting import SCOPE, TRAPS

TABLE = (
    *BUDGET_ROWS,
    *ORDER_ROWS,
    *SCOPE_ROWS,
    *POLITENESS_ROWS,
    *NETWORK_ROWS,
    *CONNECTION_ROWS,
    *ACCESS_ROWS,
    *RENDER_ROWS,
    *LIMIT_ROWS,
    *TRAP_ROWS,
    *STORE_ROWS,
    *CLUSTER_ROWS,
)

BY_NAME = {setting.name: setting for setting in TABLE}

_KEPT = """
    window width measures small-edge endowment newborn focus focus-type focus-words
    focus-similar weight-internal weight-dynamic weight-emphasis
    robots delay delay-factor min-delay max-delay address-delay agent contact user-agent languages
    cookies render
    links strip-marks keep keep-versions warc requisites strategy
"""
KEPT = tuple(
    setting
    for setting in TABLE
    if setting.section in (SCOPE, TRAPS) or setting.name in _KEPT.split()
)
"""The settings that a store keeps: which pages a crawl reads, what they are worth, and what it
promises to servers. How long a run takes and what it may use of the machine is set for each run."""
