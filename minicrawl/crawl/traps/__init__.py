"""Is there no end of pages like this one?

detector        asks the others before a page is fetched, and tells them what came of it
novelty         hosts that repeat themselves under ever new URLs
quotas          how many pages a host, a site and an address may have
quota_accounts  what each of them has earned and spent
equivalence     URLs that lead to the same page, as content has proven
"""
