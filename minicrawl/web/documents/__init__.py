"""Documents of any type.

document   from a response to a parsed page
writing    plain text and Markdown
pdf        PDF
office     docx, pptx, odt, odp and epub
"""
