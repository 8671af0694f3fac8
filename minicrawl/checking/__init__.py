"""Checks URLs that are not crawled, and keeps files that pages need.

link_asker           requests URLs through the gate of a crawl, and reads long bodies
links                checks the links that a crawl does not follow
targets              finds URLs to check, and broken references of pages
soft_404s            pages that look like what their server answers where nothing is
requisites           keeps images, styles and other files of kept pages in the archive
cloaking             requests pages as the crawler and as a browser
cloaking_judgement   whether both were served the same
"""
