"""Render pages that need a browser, in render workers that drive one browser each.

renderer         renders pages that gain links by that, and replaces them by the results
pool             shares browsers among pages; starts, watches and ends render workers
page_resources   sends the requests of rendered pages through the crawl's gate, each URL once
cors             decides what a script may read of another origin, and send there

render_messages  messages between the crawl and a render worker

worker           the render worker: starts a browser without a way to the network, and drives it
browser_page     one page in the browser, from its first byte to its last script
page_scripts     JavaScript that runs inside pages

replay           draws pages of an archive in the browser, without the network

Law: the browser reaches nothing by itself. The crawl sends all requests of a page, or refuses them.
A crawl that renders nothing imports nothing of this package.
"""
