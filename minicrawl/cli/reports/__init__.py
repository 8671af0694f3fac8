"""Commands that read a store, and show or export its content.

status    `status`, `errors`, `frontier` and `check`
top       `top`
pages     `page`; `explain`, `backlinks` and `links`
lists     `pages`, `broken`, `redirects`, `orphans`, `duplicates` and `report`
export    `export`
plot      `plot`
cloaking  `check --cloaking`
"""
