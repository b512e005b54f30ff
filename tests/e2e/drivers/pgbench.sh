#!/bin/sh
# SPDX-License-Identifier: MIT
# What pgbench does: a line of JSON for each check of README.md.
set -u
export PGSSLMODE=verify-full PGCONNECT_TIMEOUT=20 LC_ALL=C.UTF-8
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

lacks() {
    for name in "$@"; do
        printf '{"check":"%s","ok":null,"detail":"pgbench has none"}\n' "$name"
    done
}

# does CHECK SCRIPT OPTION...: what is compared is how many transactions were done and failed
does() {
    name=$1
    printf '%s\n' "$2" >"$folder/script.sql"
    shift 2
    output=$(pgbench -n -f "$folder/script.sql" "$@" 2>&1) && ok=true || ok=false
    text=$(printf '%s' "$output" | grep -E 'actually|failed|error|ERROR' | head -c 300 |
        sed 's/\\/\\\\/g; s/"/\\"/g' | tr '\n\t' ';;')
    printf '{"check":"%s","ok":%s,"detail":"%s"}\n' "$name" "$ok" "$text"
}

PGSSLMODE=disable does connect 'SELECT 1;' -t 1
does tls 'SELECT 1;' -t 1
PGCHANNELBINDING=require does channel-binding 'SELECT 1;' -t 1
does simple 'SELECT 1; SELECT 2;' -t 5 -M simple
does text '\set n random(1, 9)
SELECT :n;' -t 5 -M prepared
does pipeline '\startpipeline
SELECT 1;
SELECT 2;
\endpipeline' -t 5 -M extended
does transaction 'BEGIN; SELECT 1; ROLLBACK;' -t 5 -M extended
output=$(pgbench -q -i 2>&1) && ok=true || ok=false
text=$(printf '%s' "$output" | grep -iE 'error|fatal' | head -c 300 | sed 's/\\/\\\\/g; s/"/\\"/g')
printf '{"check":"copy","ok":%s,"detail":"%s"}\n' "$ok" "$text"
does pool 'SELECT 1;' -c 10 -j 2 -t 20 -M prepared
does reconnect 'SELECT 1;' -t 5 -C
does large "SELECT repeat('x', 10485760);" -t 1
pgbench -q -i -I d >/dev/null 2>&1
lacks binary cursor values notify cancel notice
