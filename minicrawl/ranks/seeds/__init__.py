"""Seeds for a crawl, one from each community of a graph (Daneshpajouh, Nasiri, Ghodsi, 2008).

cores       a community's core: hubs and the authorities they link to, one core after another
evaluation  how far apart cores lie, and what crawls from seeds read how soon
succession  seeds from an old graph in a newer one
"""
