"""A crawl in the browser: watch it and steer it.

A room beside the core: it can be deleted, with its entry points. Packages can add panels.

commands      `minicrawl dashboard`
beside_crawl  `crawl --dashboard` and `crawl --metrics`
server        the process: its address, its token, and its end
routes        routes, and streams of views that browsers share
access        tokens, origins, and what may be done without
views         content of the page, from the store and the running crawl
metrics       metrics for Prometheus
crawl_form    the form that starts a crawl
launcher      the processes that it starts
http_server   the server, with limits for strangers

page/ has the files of the page, which are sent and never imported.
"""
