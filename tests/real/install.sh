#!/usr/bin/env bash
# What tests/real needs beside Python: a web server, and manuals for it to serve.
set -euo pipefail

packages=(nginx-light postgresql-doc-15 sqlite3-doc python3.11-doc git-doc)

is_installed() {
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing=()
for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
done
((${#missing[@]})) || exit 0

# No questions, and no server that starts by itself.
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
apt-get update
# Slim images leave out the files of documentation packages: here they are what is wanted.
apt-get install --yes --no-install-recommends \
    -o DPkg::Options::='--path-include=/usr/share/doc/*' "${missing[@]}"
