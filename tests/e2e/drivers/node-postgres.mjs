// SPDX-License-Identifier: MIT
// What node-postgres does: a line of JSON for each check of README.md.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pipeline as streamed } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

const require = createRequire(`${process.env.NODE_FOLDER}/`);
const pg = require('pg');
const Cursor = require('pg-cursor');
const { from: copyFrom, to: copyTo } = require('pg-copy-streams');

const CHANNEL = process.env.CHANNEL;
const LARGE = 'x'.repeat(10485760);
const ssl = { ca: readFileSync(process.env.PGSSLROOTCERT), rejectUnauthorized: true };

function say(check, ok, detail) {
    console.log(JSON.stringify({ check, ok, detail }));
}

async function check(name, run) {
    try {
        say(name, true, await run());
    } catch (error) {
        say(name, false, `${error.code ?? ''} ${error.message}`.slice(0, 300));
    }
}

function same(found, wanted) {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
        throw new Error(`${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
    }
    return found;
}

async function dial(options = {}) {
    const client = new pg.Client({ ssl, connectionTimeoutMillis: 20000, ...options });
    client.on('error', () => {});
    await client.connect();
    return client;
}

async function state(promise) {
    try {
        await promise;
        return 'none';
    } catch (error) {
        return error.code;
    }
}

async function connect() {
    const client = await dial({ ssl: false });
    const { rows } = await client.query('SHOW server_version_num');
    await client.end();
    return same(rows[0].server_version_num, process.env.SERVER_VERSION);
}

async function tls() {
    const client = await dial();
    const found = [client.connection.stream.authorized, client.connection.stream.getProtocol()];
    await client.end();
    return same(found, [true, 'TLSv1.3']);
}

async function channelBinding() {
    const client = new pg.Client({ ssl, enableChannelBinding: true });
    let mechanism;
    client.connection.on('authenticationSASLContinue', () => {
        mechanism ??= client.saslSession?.mechanism;
    });
    await client.connect();
    const { rows } = await client.query('SELECT 1 AS one');
    await client.end();
    return same([mechanism, rows], ['SCRAM-SHA-256-PLUS', [{ one: 1 }]]);
}

async function simple(client) {
    const results = await client.query('SELECT 1 AS one; SELECT 2 AS two');
    return same(results.map((result) => result.rows), [[{ one: 1 }], [{ two: 2 }]]);
}

async function parameters(client, binary) {
    const rows = [];
    for (const name of [undefined, `named ${binary}`, `named ${binary}`]) {
        const result = await client.query({
            name, binary, text: 'SELECT $1::int AS n, $2::text AS t, 1 = 1 AS b',
            values: [7, 'é'],
        });
        rows.push(...result.rows);
    }
    return same(rows, Array(3).fill({ n: 7, t: 'é', b: true }));
}

async function pipeline() {
    const client = await dial({ pipeline: true });
    const numbers = [...Array(50).keys()];
    const results = await Promise.all(
        numbers.map((n) => client.query('SELECT $1::int AS n', [n])));
    const total = results.reduce((sum, { rows }) => sum + rows[0].n, 0);
    const mixed = await Promise.all([
        state(client.query('SELECT 1')), state(client.query('SELECT 1/0')),
        state(client.query('SELECT $1::int', [2]))]);
    await client.end();
    return same([total, mixed], [1225, ['none', '22012', 'none']]);
}

async function transaction(client) {
    await client.query('CREATE TEMP TABLE rolled (id int)');
    await client.query('BEGIN');
    await client.query('INSERT INTO rolled VALUES (1)');
    const found = [await state(client.query('SELECT 1/0')), await state(client.query('SELECT 1'))];
    await client.query('ROLLBACK');
    const { rows } = await client.query('SELECT count(*)::int AS n FROM rolled');
    return same([...found, rows[0].n], ['22012', '25P02', 0]);
}

async function copy(client) {
    await client.query('CREATE TEMP TABLE copied (id int, name text)');
    const lines = [...Array(1000).keys()].map((i) => `${i}\té${i}\n`);
    await streamed(Readable.from(lines.map((line) => Buffer.from(line))),
        client.query(copyFrom('COPY copied FROM STDIN')));
    let size = 0;
    for await (const part of client.query(copyTo('COPY copied TO STDOUT'))) {
        size += part.length;
    }
    const wrong = await state(streamed(Readable.from([Buffer.from('no number\tx\n')]),
        client.query(copyFrom('COPY copied FROM STDIN'))));
    const { rows } = await client.query('SELECT count(*)::int AS n, sum(id)::int AS s FROM copied');
    return same([size, wrong, rows[0]], [9780, '22P02', { n: 1000, s: 499500 }]);
}

async function cursor(client) {
    const cursor = client.query(new Cursor('SELECT generate_series(1, 1000) AS n'));
    let total = 0;
    for (let rows = await cursor.read(100); rows.length > 0; rows = await cursor.read(100)) {
        total += rows.reduce((sum, row) => sum + row.n, 0);
    }
    await cursor.close();
    return same(total, 500500);
}

async function large(client) {
    const { rows } = await client.query("SELECT $1::text || 'y' AS found", [LARGE]);
    return same([rows[0].found === `${LARGE}y`, rows[0].found.length], [true, 10485761]);
}

async function values(client) {
    const sent = [null, [1, null, 3], { a: [1, 'é'] }, new Date('2024-02-29T10:34:56.789Z'),
        'žluťoučký 🐎'];
    const { rows } = await client.query({
        text: 'SELECT $1::text, $2::int[], $3::jsonb, $4::timestamptz, $5::text',
        values: sent, rowMode: 'array',
    });
    return same(rows[0], sent);
}

async function notify(client) {
    const heard = new Promise((resolve) => client.once('notification', resolve));
    await client.query(`LISTEN ${CHANNEL}`);
    const other = await dial();
    await other.query('SELECT pg_notify($1, $2)', [CHANNEL, 'été']);
    await other.end();
    const { payload } = await heard;
    await client.query('UNLISTEN *');
    return same(payload, 'été');
}

// The request goes out as pg's own code sends it: in the clear, on a connection of its own.
async function cancel(client) {
    const query = new pg.Query('SELECT pg_sleep(30)');
    const ended = new Promise((resolve) => query.once('error', resolve));
    client.query(query);
    await sleep(300);
    const canceller = new pg.Client({ ssl: false });
    canceller.connection.on('error', () => {});
    canceller.cancel(client, query);
    const error = await ended;
    const { rows } = await client.query('SELECT 1 AS one');
    return same([error.code, error.message, rows],
        ['57014', 'canceling statement due to user request', [{ one: 1 }]]);
}

async function notice(client) {
    const heard = new Promise((resolve) => client.once('notice', resolve));
    await client.query("DO $$ BEGIN RAISE NOTICE 'über'; END $$");
    const { severity, message } = await heard;
    return same([severity, message], ['NOTICE', 'über']);
}

async function pool() {
    const many = new pg.Pool({ ssl, max: 10 });
    const clients = await Promise.all(Array.from({ length: 10 }, () => many.connect()));
    clients.forEach((client) => client.release());
    const results = await Promise.all(
        [...Array(200).keys()].map((n) => many.query('SELECT $1::int AS n', [n])));
    await many.end();
    return same([clients.length, results.reduce((sum, { rows }) => sum + rows[0].n, 0)],
        [10, 19900]);
}

async function reconnect(client) {
    const one = new pg.Pool({ ssl, max: 1 });
    const gone = new Promise((resolve) => one.once('error', resolve));
    const pid = (await one.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
    await client.query('SELECT pg_terminate_backend($1)', [pid]);
    const error = await gone;
    const { rows } = await one.query('SELECT pg_backend_pid() <> $1 AS is_new', [pid]);
    await one.end();
    return same([error.code, error.message, rows[0].is_new],
        ['57P01', 'terminating connection due to administrator command', true]);
}

await check('connect', connect);
await check('tls', tls);
await check('channel-binding', channelBinding);
const client = await dial();
await check('simple', () => simple(client));
await check('text', () => parameters(client, false));
await check('binary', () => parameters(client, true));
await check('pipeline', pipeline);
for (const run of [transaction, copy, cursor, large, values, notify, cancel, notice]) {
    await check(run.name, () => run(client));
}
await check('pool', pool);
await check('reconnect', () => reconnect(client));
await client.end();
