"""Commands about a crawl and its graph.

status       progress, and what the store holds
errors       pages that failed, and the next pages
check        a store against its laws, a server against cloaking
refine       converged ranks
plot         a crawl in one picture, and most of the lists as one HTML file
graph        size, components and distances of a graph, in words
"""
