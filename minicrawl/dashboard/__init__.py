"""A crawl in the browser: watch it and steer it.

A room beside the core: it can be deleted, with its entry points. Packages can add panels.

serving       the address, the token, and the server
routes        HTTP routes, access control, and the event streams that follow a crawl
views         content of the page, from the store and the running crawl
launching     starts a crawl from a form
metrics       metrics of a crawl, for Prometheus
commands      `minicrawl dashboard`, `crawl --dashboard` and `crawl --metrics`

page/ has the files of the page, which are sent and never imported.
"""
