#!/usr/bin/env bash
# What tests need beside Python: a web server, manuals for it to serve, proxies, servers that join the
# shards of a crawl, and a browser.
set -euo pipefail

packages=(nginx-light tinyproxy microsocks squid postgresql-doc-15 sqlite3-doc python3.11-doc git-doc)
# Last and by itself: it is the largest, and whoever has no time for it keeps the others.
browser=(chromium)

is_installed() {
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing_of() {
    for package in "$@"; do
        is_installed "$package" || printf '%s\n' "$package"
    done
}

# No questions, and no server that starts by itself.
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1

install_missing() {
    local missing
    mapfile -t missing < <(missing_of "$@")
    ((${#missing[@]})) || return 0
    # Slim images leave out the files of documentation packages: here they are what is wanted.
    apt-get install --yes --no-install-recommends \
        -o DPkg::Options::='--path-include=/usr/share/doc/*' "${missing[@]}"
}

[[ -n $(missing_of "${packages[@]}" "${browser[@]}") ]] || exit 0
apt-get update
install_missing "${packages[@]}"
install_missing "${browser[@]}"
