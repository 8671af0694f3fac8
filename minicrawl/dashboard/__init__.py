"""A crawl in the browser: watch it and steer it.

A room beside the core: it can be deleted, with its entry points. Packages add panels to it.

serving       the address, the token, and the server
routes        HTTP routes, access control, and the event streams that follow a crawl
views         content of the page, from the store and the running crawl
launching     starts a crawl from a form
commands      `minicrawl dashboard` and `crawl --dashboard`

page/ has the page's own files. They are sent, not imported.
"""
