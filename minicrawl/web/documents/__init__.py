"""Documents of any type.

document   from a response to a parsed page
writing    plain text and Markdown
file_text  files whose text has to be extracted
pdf        PDF
office     docx, pptx, odt, odp and epub
"""
