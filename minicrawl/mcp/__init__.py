"""A server of the Model Context Protocol, through which agents read a store.

Laws: tools change no store, except one that crawls if the user allows it, only where and as much as
the user says. The size of an answer is limited for any store. Everything that web servers can have
written is below the key `untrusted`, and every answer says what that means.

tools      questions about a store, limits of answers, the tool that crawls, and the server of all
           on stdio and HTTP
commands   `minicrawl mcp`, and the process of a crawl that an agent starts
"""
