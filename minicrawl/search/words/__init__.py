"""Words: of a query, of the index, and in a text.

query        parses queries
vocabulary   corrects words by those of the index
word_forms   other forms of a word, by stemming
curation     synonyms and pins from a file
snippets     lines of a page that contain words of a query
word_places  how near words are to each other in a text
"""
