#!/bin/sh
# SPDX-License-Identifier: MIT
# What psql does: a line of JSON for each check of README.md.
set -u
export PGSSLMODE=verify-full PGCONNECT_TIMEOUT=20 LC_ALL=C.UTF-8
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

run() {
    psql -XAtq "$@" 2>&1
}

# expect CHECK WANTED FOUND
expect() {
    ok=false
    [ "$2" = "$3" ] && ok=true
    text=$(printf '%s' "$3" | head -c 300 | sed 's/\\/\\\\/g; s/"/\\"/g' | tr '\n\t' ';;')
    printf '{"check":"%s","ok":%s,"detail":"%s"}\n' "$1" "$ok" "$text"
}

lacks() {
    printf '{"check":"%s","ok":null,"detail":"%s"}\n' "$1" "$2"
}

expect connect "$SERVER_VERSION" "$(PGSSLMODE=disable run -c 'SHOW server_version_num')"
expect tls "TLSv1.3" "$(run -c '\conninfo' | grep -o 'TLSv[0-9.]*')"
expect channel-binding 1 "$(PGCHANNELBINDING=require run -c 'SELECT 1')"
expect simple "1
2" "$(run -c "SELECT 1; SELECT 2")"
expect text "one|integer
two|text" "$(echo "SELECT 1 AS one, 'x'::text AS two \\gdesc" | run)"
lacks binary "psql reads text only"
lacks pipeline "psql has it from 18 on"
expect transaction 'ERROR:  division by zero
ERROR:  current transaction is aborted, commands ignored until end of transaction block
kept' "$(run -c 'BEGIN' -c 'SELECT 1/0' -c 'SELECT 2' -c ROLLBACK -c "SELECT 'kept'")"
expect copy "2
1	one
2	\\N
500500" "$(run <<'TEXT'
CREATE TEMP TABLE copied (id int, name text);
COPY copied FROM STDIN;
1	one
2	\N
\.
SELECT count(*) FROM copied;
\copy copied TO STDOUT
CREATE TEMP TABLE many (id int);
INSERT INTO many SELECT generate_series(1, 1000);
\copy many TO PROGRAM 'cat >/dev/null'
SELECT sum(id) FROM many;
TEXT
)"
expect cursor "500500" "$(run -v FETCH_COUNT=100 -c 'SELECT generate_series(1, 1000)' |
    awk '{ sum += $1 } END { print sum }')"
{
    printf "SELECT length('"
    head -c 10485760 /dev/zero | tr '\0' x
    echo "');"
} >"$folder/large.sql"
expect large "10485760
10485761" "$(run -f "$folder/large.sql"; run -c "SELECT repeat('x', 10485760)" | wc -c)"
expect values 'none|{1,NULL,3}|{"a": [1, "é"]}|2024-02-29 10:34:56.789|žluťoučký 🐎' "$(
    run -P null=none -c "SELECT NULL::text, ARRAY[1, NULL, 3],
        '{\"a\": [1, \"é\"]}'::jsonb, '2024-02-29 12:34:56.789+02'::timestamptz AT TIME ZONE 'UTC',
        'žluťoučký 🐎'" | tr -d '\n')"
expect notify 'Asynchronous notification "channel" with payload "été" received from server' "$(
    run -c "LISTEN $CHANNEL" -c "NOTIFY $CHANNEL, 'été'" |
        sed "s/$CHANNEL/channel/; s/ process with PID.*//")"

PGAPPNAME=$CHANNEL psql -XAtq -c 'SELECT pg_sleep(30)' >"$folder/cancelled" 2>&1 &
slow=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    sleep 0.1
    [ "$(run -c "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = '$CHANNEL' AND wait_event = 'PgSleep'")" = 1 ] && break
done
kill -INT $slow
wait $slow
expect cancel 'ERROR:  canceling statement due to user request' \
    "$(grep -v 'Cancel request sent' "$folder/cancelled")"
expect notice 'NOTICE:  über' "$(run -c "DO \$\$ BEGIN RAISE NOTICE 'über'; END \$\$")"

seq 20 | sed 's/.*/SELECT &;/' >"$folder/twenty.sql"
for client in 0 1 2 3 4 5 6 7 8 9; do
    run -f "$folder/twenty.sql" >"$folder/of.$client" &
done
wait
expect pool "200 rows, sum 2100" "$(cat "$folder"/of.* |
    awk '{ sum += $1 } END { print NR " rows, sum " sum }')"
expect reconnect 'FATAL:  terminating connection due to administrator command
again' "$(run -c 'SELECT pg_terminate_backend(pg_backend_pid())' 2>&1 | head -n 1
    run -c "SELECT 'again'")"
