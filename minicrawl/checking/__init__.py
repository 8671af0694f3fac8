"""What is checked on the web, and not crawled.

asking    asks for URLs, politely
targets   which URLs are asked for, and what pages refer to that is not there
cloaking  whether a page is another one for a browser
polite    hosts, and when each may be asked
"""
