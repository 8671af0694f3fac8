"""Links that are not crawled: are they there?

asking    asks for URLs, politely
targets   which URLs are asked for, and what pages refer to that is not there
"""
