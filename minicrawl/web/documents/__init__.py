"""Documents with links that are not HTML: their types and their content.

kinds     types of documents, from the head of a response, its URL and its first bytes
document  from a response of any type to a parsed page; titles of feeds; PDF files, in a process
          that can be killed
writing   plain text and Markdown
"""
