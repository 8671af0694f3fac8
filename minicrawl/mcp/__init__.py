"""A store for agents: a server of the Model Context Protocol, which reads it.

Laws: tools change no store; one more tool crawls if the user allows it, where and as much as the
user says. An answer has a limit whatever a store contains. Everything that servers of the web can
have written is below the key `untrusted`, and every answer says what that means.

answers    what tools return
tools      questions about a store
crawling   the tool that crawls
serving    the protocol, on stdio and HTTP
"""
