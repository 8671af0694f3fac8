"""When may this host be asked, and how?

onboarding     before the first page of a host: its address, robots.txt, sitemaps; back-off;
               robots.txt rules in memory, and those that earlier runs stored
side_requests  requests for robots.txt and sitemaps; they wait until their host may be asked; the
               sitemaps of a host that wait to be read
politeness     when a host may be asked: delays and connections of all hosts; what is known of one
               host, with its pauses and strikes
pacing         delays and connections of addresses, and the hosts that wait for them; requests and
               bytes a second of the whole crawl, and the hours of the day
fairness       a host that costs more processor time than others waits longer; hosts that do not
               answer hold at most half of all requests
"""
