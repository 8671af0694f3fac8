"""Render pages that need a browser, in render workers that drive one browser each.

renderer         finds the browser; shares browsers among pages; chooses the pages to render, host
                 by host, and takes their results; sends the requests of a rendered page, as
                 politely as those for pages, and each script's once
render_messages  messages between the crawl and a render worker
browser_worker   the render worker: a process that drives one browser, and the guard around it

Law: the browser reaches nothing by itself. The crawl sends all requests of a page, or refuses them.
A crawl that renders nothing imports nothing of this package.
"""
