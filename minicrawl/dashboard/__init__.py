"""A crawl in the browser: watch it and steer it.

A room beside the core: it can be deleted, with its entry points. Packages add panels to it.

serving       the address, the token, and the server
routes        what can be asked for, by whom, and the events that follow a crawl
views         what the page shows, from the store and from the crawl
launching     a form becomes a crawl
commands      `minicrawl dashboard`
beside_crawl  `crawl --dashboard`

page/ is the page itself. It is sent, not imported.
"""
