"""The rows that say how a server is reached: proxies, HTTP/2, TLS, addresses."""

from minicrawl.config.setting import NETWORK, Setting, differs
from minicrawl.config.values import kinds, network_kinds

HTTP2 = ("off", "auto")
MIN_TLS = ("1.2", "1.3")
FAMILIES = ("auto", "ipv4", "ipv6")

CONNECTION_ROWS = (
    Setting(
        NETWORK,
        "proxy",
        "proxy",
        kinds.several(network_kinds.PROXY),
        "Send requests through this proxy: http, https, socks5 or socks5h, with a login if it "
        "needs one. @FILE lists one per line; http=URL and https=URL are for pages of one scheme. "
        "With several proxies, each host keeps to one of them. Repeatable; none for no proxy, "
        "environment for those in HTTP_PROXY, HTTPS_PROXY and ALL_PROXY.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "no_proxy",
        "no-proxy",
        kinds.several(network_kinds.BYPASS),
        "Use no proxy for these hosts and the hosts below them: names, addresses, networks, or *. "
        "Repeatable; none for no host, environment for those in NO_PROXY.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "http2",
        "http2",
        kinds.choice(*HTTP2),
        "auto offers HTTP/2 to https servers. It costs more processor time than HTTP/1.1, and "
        "saves connections only if --per-host is above 1.",
    ),
    Setting(
        NETWORK,
        "ca",
        "ca",
        kinds.optional(kinds.FILE),
        "Also trust the certificate authorities in this file (PEM); none for no file.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "client_cert",
        "client-cert",
        kinds.several(network_kinds.FILE_OF_A_HOST),
        "Present this certificate (PEM) to servers that ask for one: to this host, to all hosts "
        "below *.NAME, or to all. Repeatable; none for no certificate.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "client_key",
        "client-key",
        kinds.several(network_kinds.FILE_OF_A_HOST),
        "The key of the --client-cert for the same host, if that file does not hold it. "
        "Repeatable; none for no other file.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "insecure",
        "insecure",
        kinds.several(network_kinds.HOST),
        "Do not check the certificate of this host, or of all hosts below *.NAME. Repeatable; none "
        "for no host.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "min_tls",
        "min-tls",
        kinds.choice(*MIN_TLS),
        "The oldest version of TLS to accept.",
    ),
    Setting(
        NETWORK,
        "prefer_family",
        "prefer-family",
        kinds.choice(*FAMILIES),
        "Which addresses of a host to try first. auto: in the order of the system.",
    ),
    Setting(
        NETWORK,
        "bind_address",
        "bind-address",
        kinds.several(network_kinds.ADDRESS),
        "Connect from this address of this machine, only to servers of the same address family. "
        "Repeatable; none for any address.",
        weakens=differs,
    ),
)
