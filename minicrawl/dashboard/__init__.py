"""A crawl in the browser: watch it and steer it.

A room beside the core: it can be deleted, with its entry points. Packages can add panels.

serving     HTTP server: access control, routes, event streams, address and token
views       content of the page, from the store and the running crawl; metrics for Prometheus
launching   starts a crawl from a form
commands    `minicrawl dashboard`, `crawl --dashboard` and `crawl --metrics`

page/ has the files of the page, which are sent and never imported.
"""
