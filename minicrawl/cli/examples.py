"""Examples of each command, as `--help` shows them."""

_TEXT = """\
crawl
    minicrawl crawl example.org --scope host --pages 500
    minicrawl crawl seeds.txt --for 2h --contact you@example.org
    minicrawl crawl --new-pages 1000 --json
update
    minicrawl update
    minicrawl update --store site.db --for 2h -q
    minicrawl update --new-pages 5000 --json > changes.json
node
    minicrawl node --cluster nats://nats1:4222
    minicrawl node --cluster nats://nats1:4222 --folder /srv/crawl --name east-2
    minicrawl node --cluster tls://crawler:PASSWORD@nats1:4222/news
cluster status
    minicrawl cluster status --cluster nats://nats1:4222
    minicrawl cluster status --cluster nats://nats1:4222,nats://nats2:4222/news
    minicrawl cluster status --cluster nats://nats1:4222 --json
cluster reshard
    minicrawl cluster reshard --shards 64 --cluster nats://nats1:4222
    minicrawl cluster reshard --shards 64 --cluster tls://crawler:PASSWORD@nats1:4222/news
    minicrawl cluster reshard --shards 8 --cluster nats://nats1:4222 --json
cluster set
    minicrawl cluster set east-2 --drain --cluster nats://nats1:4222/news
    minicrawl cluster set east-2 --no-drain --cluster tls://crawler:PASSWORD@nats1:4222
refine
    minicrawl refine
    minicrawl refine --until 1e-9
    minicrawl refine --to copy.db
move
    minicrawl move site.db
    minicrawl move /srv/crawls/ --store site.db
    minicrawl move old/site.db --store site.db --json
config
    minicrawl config
    minicrawl config --store site.db
    minicrawl config --delay 2s > minicrawl.toml
about
    minicrawl about --contact https://bot.example.org/
    minicrawl about --new-key bot.pem --contact https://bot.example.org/
    minicrawl about --sign-requests bot.pem --contact https://bot.example.org/ --directory
status
    minicrawl status
    minicrawl status --store site.db --mirrors
    minicrawl status --json
top
    minicrawl top -n 20
    minicrawl top --by pagerank --host www.example.org
    minicrawl top --sites --json
page
    minicrawl page example.org/about
    minicrawl page example.org --screenshot page.png
    minicrawl page example.org --raw > page.html
explain
    minicrawl explain example.org/about
    minicrawl explain https://example.org/ --store site.db
    minicrawl explain example.org --json
links
    minicrawl links example.org
    minicrawl links example.org/about -n 10
    minicrawl links example.org --json
backlinks
    minicrawl backlinks example.org/about
    minicrawl backlinks example.org -n 0
    minicrawl backlinks example.org --json
errors
    minicrawl errors
    minicrawl errors --kind timeout --host www.example.org
    minicrawl errors -n 0 --json
frontier
    minicrawl frontier
    minicrawl frontier -n 50 --wide
    minicrawl frontier --json
pages
    minicrawl pages --state not-found --sort -inlinks
    minicrawl pages --state moved --columns url,stands_for --csv
    minicrawl pages --host www.example.org --sort -depth -n 20
changes
    minicrawl changes
    minicrawl changes --since 2026-11-22 --host www.example.org
    minicrawl changes --since 7d --csv > changes.csv
audit
    minicrawl audit
    minicrawl audit --baseline known.json --out junit.xml
    minicrawl audit ./public --base https://example.org/ --fail-on error
broken
    minicrawl broken
    minicrawl broken --host www.example.org -n 0
    minicrawl broken --csv > broken.csv
redirects
    minicrawl redirects
    minicrawl redirects --host www.example.org
    minicrawl redirects --csv > redirects.csv
duplicates
    minicrawl duplicates
    minicrawl duplicates --host www.example.org
    minicrawl duplicates --csv > duplicates.csv
report
    minicrawl report site.html
    minicrawl report site.html --store site.db
    minicrawl report /srv/reports/site.html --store /srv/crawls/site.db
search
    minicrawl search 'tide table'
    minicrawl search '"tide table" -harbour site:example.org'
    minicrawl search 'title:tide' --n 3 --explain
index
    minicrawl index
    minicrawl index --fresh
    minicrawl index --store site.db
plot
    minicrawl plot crawl.png
    minicrawl plot crawl.svg --graph-of known
    minicrawl plot site.png --store site.db
import
    minicrawl import site.warc.gz --store site.db
    minicrawl import part-*.warc.gz --store site.db
    minicrawl import links.txt.gz --store web.db --json
check
    minicrawl check
    minicrawl check --store site.db --json
    minicrawl check --cloaking https://example.org/
rank
    minicrawl rank pagerank
    minicrawl rank
    minicrawl rank --remove pagerank --remove hits-hubs
lab compare
    minicrawl lab compare opic pagerank
    minicrawl lab compare pagerank hits --k 10,50
    minicrawl lab compare degree harmonic --graph links.txt.gz
seed-set
    minicrawl seed-set
    minicrawl seed-set --graph links.txt
    minicrawl seed-set --json
lab
    minicrawl lab order
    minicrawl lab windows --help
    minicrawl lab convergence
export
    minicrawl export ranks.csv
    minicrawl export links.parquet --edges
    minicrawl export - --fetched -n 100 --format jsonl
archive
    minicrawl archive
    minicrawl archive --verify
    minicrawl archive --qa replay.html --qa-pages 50
graph
    minicrawl graph
    minicrawl graph --graph links.txt.gz
    minicrawl graph --json
rank pagerank
    minicrawl rank pagerank -n 20
    minicrawl rank pagerank --as ranks-of-may
    minicrawl rank pagerank --graph links.txt --json
rank hits
    minicrawl rank hits -n 20
    minicrawl rank hits --query music
    minicrawl rank hits --graph links.txt
"""
EXAMPLES: dict[str, list[str]] = {}
"""Three examples per command."""

for _line in _TEXT.splitlines():
    if _line.startswith(" "):
        EXAMPLES[next(reversed(EXAMPLES))].append(_line.strip())
    else:
        EXAMPLES[_line] = []


def epilog(command: str) -> str | None:
    """Return the examples of a command, for the end of its help."""
    lines = EXAMPLES.get(command)
    return None if lines is None else "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
