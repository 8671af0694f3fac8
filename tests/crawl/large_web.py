"""A web of eight hosts that link to each other, so large that a crawl commits several times."""

HOSTS = [f"http://{name}.example" for name in "abcdefgh"]
LINKS = {
    f"{host}/{number}": [f"{other}/{number + 1}" for other in HOSTS] + [f"{host}/x{number}"]
    for host in HOSTS
    for number in range(9)
}
SEED = f"{HOSTS[0]}/0"
AT_ONCE = 4
