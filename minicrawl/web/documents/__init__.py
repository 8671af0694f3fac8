"""Documents that link and are no HTML: which type one is, and what it says.

kinds     the types of documents: told from the head of a response, its URL and its first bytes
document  from a response of any type to a parsed page; the title of a feed; PDF files, in a
          process that can be killed
writing   plain text and Markdown
"""
