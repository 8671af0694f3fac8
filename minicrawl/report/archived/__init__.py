"""Pages that a store has kept.

page_versions   the kept responses of a page, their texts, and the words of links
requisites      resources that pages and stylesheets need for display
usage           permitted uses of pages, as their sites state them
captures        pages with the files that they need, for web archives
page_contents   contents of pages as columns of an export
replay_quality  how much pages opened from the archive look and read as recorded

killable_process   a process that parses foreign bytes, and can be killed
page_texts         texts that packages make of pages, in such a process
made_texts         the texts of many pages, made ahead by several processes
file_reader        the text of a PDF or office document, read in such a process
"""
