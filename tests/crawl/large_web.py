"""A web that is more than one batch."""

HOSTS = [f"http://{name}.example" for name in "abcdefgh"]


LINKS = {
    f"{host}/{number}": [f"{other}/{number + 1}" for other in HOSTS] + [f"{host}/x{number}"]
    for host in HOSTS
    for number in range(9)
}


SEED = f"{HOSTS[0]}/0"


AT_ONCE = 4
