"""What is checked on the web, or kept of it, and not crawled.

asking      asks for URLs by the gate of a crawl
targets     which URLs are asked for, and what pages refer to that is not there
requisites  what pages need to be shown, for the archive
cloaking    whether a page is another one for a browser
"""
