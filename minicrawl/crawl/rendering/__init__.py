"""Render pages that need a browser, in render workers that drive one browser each.

pool       browsers of a crawl, and which page has which; renderer between parse and settle: chooses
           the pages to render, and takes their results
browser    finds and starts the browser; memory and time of its processes; scripts that run inside
           pages; learns host by host whether pages gain links by rendering
resources  requests of a page while it is rendered, as polite as those of pages; each script is
           requested once
messages   messages between the crawl and a render worker
worker     worker's side: a process that drives one browser
page       one page in that browser, from its first byte to its last script

Law: the browser reaches nothing by itself. The crawl sends all requests of a page, or refuses them.
A crawl that renders nothing imports nothing of this package.
"""
