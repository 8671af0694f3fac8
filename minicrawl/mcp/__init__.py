"""A server of the Model Context Protocol, through which agents read a store.

Laws: tools change no store, except one that crawls if the user allows it, only where and as much as
the user says. The size of an answer is limited for any store. Everything that web servers can have
written is below the key `untrusted`, and every answer says what that means.

commands     `minicrawl mcp`
server       the protocol, on stdio and HTTP
tools        questions about a store
answers      limits of answers, and the mark of what is untrusted
held_store   what stays open between questions
crawl_tool   the tool that crawls, if the user allows it
crawl_grant  what it may crawl, and its process
"""
