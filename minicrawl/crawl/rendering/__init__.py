"""Render pages that need a browser, in render workers that drive one browser each.

renderer         finds the browser; browsers of a crawl, and which page has which; chooses the pages
                 to render, host by host, and takes their results
resources        requests of a page while it is rendered, as polite as those of pages; each script
                 is requested once
render_messages  messages between the crawl and a render worker
browser_worker   worker's side: a process that drives one browser, and the guard around it

Law: the browser reaches nothing by itself. The crawl sends all requests of a page, or refuses them.
A crawl that renders nothing imports nothing of this package.
"""
