"""When may this host be asked, and how?

onboarding      before the first page of a host: its address, its robots.txt, its sitemaps
sitemap_queue   the sitemaps of a host that wait to be read
politeness      delays, back-off and connections, for each host and each address
fairness        a host that costs more processor time than others waits longer
request_slots   hosts that do not answer hold at most half of all requests
side_requests   requests for robots.txt and sitemaps: they keep the delays of their host too
"""
