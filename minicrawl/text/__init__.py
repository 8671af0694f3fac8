"""Main text of pages, as text and as Markdown, its language, and what pages declare.

A room beside the core: it can be deleted, with its entry points. Functions of markup are pure, and
run in a process that can be killed, see `report.archived.page_texts`.

main             parsers of main text, for the entry points
boxes            a page as a tree of boxes
formulas         formulas as TeX
hints            what the tag, role, class and id of an element say
choice           which kind of page it is, and so which of its boxes are the main text
main_box         the box that a page is about, and what is dropped in and around it
posts            siblings that repeat, such as the posts of a forum
site_places      what the pages of a site teach of their main text
markdown         the main text as Markdown
wet              files of main texts, as Common Crawl has them
metadata         author, dates and the like, as a page declares them
structured_data  JSON-LD, Open Graph and microdata
rdfa             statements in RDFa Lite
fields           texts that selectors find, for `--field`
scorers          values of pages for `crawl --score`
"""
