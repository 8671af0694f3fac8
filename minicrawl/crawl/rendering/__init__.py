"""Pages that need a browser: rendered by render workers, each with a browser of its own.

pool       the browsers of a crawl, and which page has which; the station between parse and
           settle: which page is rendered, and what comes of it
browser    which browser there is, and how it is started; what the browser's processes take of
           memory and time; what runs inside of pages; whether pages like this one gain links by
           being rendered, learnt host by host
resources  what a page asks for while it is rendered, asked as politely as pages are; scripts and
           the like, each asked for once
messages   what the crawl and a render worker say to each other
worker     the worker's own side: a process that drives one browser
page       one page in that browser, from its first byte to its last script

Law: the browser reaches nothing by itself. Whatever a page asks for, the crawl asks for it, or
nobody does. A crawl that renders nothing imports nothing of this.
"""
