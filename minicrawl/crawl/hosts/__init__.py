"""When may this host be asked, and how?

onboarding      before the first page of a host: its address, robots.txt, sitemaps; back-off
robots_cache    robots.txt rules in memory, and those that earlier runs stored
sitemap_queue   the sitemaps of a host that wait to be read
politeness      when a host may be asked: delays and connections of all hosts
host_state      what is known of one host, with its pauses and strikes
address_pacing  delays and connections of addresses, and the hosts that wait for them
crawl_pace      requests and bytes a second of the whole crawl, and the hours of the day
fairness        a host that costs more processor time than others waits longer
request_slots   hosts that do not answer hold at most half of all requests
side_requests   requests for robots.txt and sitemaps; they wait until their host may be asked
"""
