"""Reports on links: cash flows, graphs, and the links of one page."""
