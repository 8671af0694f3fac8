"""The rows of the table of settings, in the parts that the help shows.

crawl        what is read, until when and into which file
order        in which order, and what pages are worth
request      how servers are asked, and how much one page or one host may cost
connection   how a server is reached: proxies, HTTP/2, TLS, addresses
access       who we are to servers: headers, logins, cookies
render       which pages a browser renders
store        what is stored, and what is done when a crawl ends
"""
