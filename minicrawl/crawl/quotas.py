"""Quotas: limit the pages of a host, a site and a network, by the cash that they have earned.

An endless site makes up pages, and a link farm makes up as many hosts and domains as it wants.
Neither can make up cash from pages of others. So each host, each site and each network has an
account: a base of pages, and 5 more for each unit of cash that arrives from elsewhere.

Example with --site-pages 1000. All cash in it comes along links.

    shop.example has one host. Its first page costs its site 10 + 1: a new host counts as 10 pages.
    It reads 800 pages, each leading to 1 new page, and one page that leads to 300 new ones, which
    counts as 10 (`MOST_A_PAGE`). Spent: 10 + 800 + 10 = 820 of 1,000.
    Each further page spends 1 until 1,000 are spent. Then its pages end their turns with
    `allowance`, and stay known and ranked.
    news.example gives it 12 units: 60 more pages. They are reopened at the next look.

    farm.example has 300 hosts that give each other 10,000 units. As hosts they earn from each
    other; their site earns nothing, and each new host costs it 10 pages. So after 90 hosts with a
    page each (11 * 90 = 990), and 10 pages more, no page of farm.example is requested.
    If they were 300 domains at one address, their sites would earn from each other, but not their
    network: 1,000 pages together. Domains with addresses of their own do earn from each other.
    The order of reading holds such farms back (`opic.families`).

Laws: a site with a seed has no limit. All others begin with the same number of pages, and earn more
by cash from elsewhere (see `InboundCash`). A page that leads to new pages of its host counts once
for each, up to a limit: so a finite site costs little more than its pages, and an endless one soon
stops. The pages of a site that an earlier run read count as earned; the new pages that they led to
are not counted again.
"""

from __future__ import annotations
