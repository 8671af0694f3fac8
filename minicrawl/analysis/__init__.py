"""A rank of a store or a graph file: where links come from, what is run, what is kept of it.

source      the graph of an analysis: the links of a store, or a graph file
ranks       every rank by its name, with its usual options, and how it is kept; what a store knows
            besides its links: words, titles, when pages changed; root sets
blocks      PageRank within a limit of memory
comparing   two ranks side by side, and a rank beside what people think of pages; a rank before
            and after pages are taken away
link_words  links that weigh more for the words in and around them
importing   a graph file as a store; seeds from the communities of a graph
"""
