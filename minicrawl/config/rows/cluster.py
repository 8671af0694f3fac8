"""The rows that say which cluster a crawl is part of, and how its servers are reached."""

from dataclasses import replace

from minicrawl.config.setting import CLUSTER, Setting, differs
from minicrawl.config.values import kinds
from minicrawl.config.values.network_kinds import without_login

CLUSTER_ROWS = (
    Setting(
        CLUSTER,
        "url",
        "cluster",
        kinds.optional(
            replace(
                kinds.text(
                    "URL",
                    "the address of NATS servers such as nats://host:4222, with commas between "
                    "several, and /NAME behind them if they serve several crawls; or demo",
                    r"demo|(nats|tls)://[^\s/,]+(,((nats|tls)://)?[^\s/,]+)*(/[A-Za-z0-9_-]{0,32})?",
                ),
                mask=without_login,
            )
        ),
        "Crawl with other machines, joined by these NATS servers: nats://host:4222, several with "
        "commas between, /NAME behind them if they serve several crawls. demo starts servers and "
        "nodes on this machine. none for this machine alone.",
        weakens=differs,
    ),
    Setting(
        CLUSTER,
        "creds",
        "cluster-creds",
        kinds.optional(kinds.FILE),
        "The file with the credentials for the NATS servers, or with the seed of an nkey; none for "
        "no file.",
        weakens=differs,
    ),
    Setting(
        CLUSTER,
        "ca",
        "cluster-ca",
        kinds.optional(kinds.FILE),
        "Trust the certificates in this file (PEM) for the NATS servers, in place of those of the "
        "system; none for no file.",
        weakens=differs,
    ),
    Setting(
        CLUSTER,
        "cert",
        "cluster-cert",
        kinds.optional(kinds.FILE),
        "The certificate (PEM) that this machine shows to the NATS servers, where they ask for "
        "one; none for no file.",
        weakens=differs,
    ),
    Setting(
        CLUSTER,
        "key",
        "cluster-key",
        kinds.optional(kinds.FILE),
        "The key of --cluster-cert (PEM); none if it is in the same file.",
        weakens=differs,
    ),
)
