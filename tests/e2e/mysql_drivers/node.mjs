// SPDX-License-Identifier: MIT
// What mysql2 and MariaDB's connector do: a line of JSON for each check of README.md.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

const [name] = process.argv.slice(2);
const require = createRequire(`${process.env.NODE_FOLDER}/`);
const driver = require(name === 'mysql2' ? 'mysql2/promise' : 'mariadb');
const statements = readFileSync(process.env.STATEMENTS, 'utf8').trim().split('\n');
const place = {
    host: process.env.DB_HOST,
    port: Number(process.env.DB_PORT),
    user: process.env.DB_USER,
    password: process.env.DB_PASSWORD,
    database: process.env.DB_NAME,
    ssl: { ca: readFileSync(process.env.DB_CA) },
    dateStrings: true,
    ...(name === 'mysql2' ? { supportBigNumbers: true, bigNumberStrings: true } : {}),
};

const dial = (options = {}) => driver.createConnection({ ...place, ...options });

function plain(key, value) {
    return typeof value === 'bigint' ? `${value}` : value;
}

async function check(name, run) {
    let found;
    try {
        found = await run();
    } catch (error) {
        found = `${error.errno} ${error.sqlState ?? error.code}`;
    }
    console.log(JSON.stringify({ check: name, found: found ?? null }, plain));
}

async function ask(conn, how, text, values) {
    const found = await conn[how](text, values);
    if (name === 'mariadb') {
        return found;
    }
    const [rows, fields] = found;
    return [rows, fields?.map?.((field) => [field?.name, field?.columnType, field?.flags])];
}

async function kill(conn) {
    let found = null;
    const slow = ask(conn, 'query', 'SELECT SLEEP(30) AS slept').then(
        (rows) => (found = rows), (error) => (found = error.errno));
    const other = await dial();
    while (found === null) {
        await Promise.race([slow, sleep(500)]);
        if (found === null) {
            await other.query(`KILL QUERY ${conn.threadId}`).catch(() => {});
        }
    }
    await other.end();
    return [found, await ask(conn, 'query', "SELECT 'still there'")];
}

async function transaction(conn) {
    await conn.beginTransaction();
    await conn.query("INSERT INTO things (id, name) VALUES (99, 'gone')");
    const inside = await ask(conn, 'query', 'SELECT COUNT(*) FROM things');
    await conn.rollback();
    return [inside, await ask(conn, 'query', 'SELECT COUNT(*) FROM things')];
}

async function large(conn) {
    const text = 'x'.repeat(10000000);
    const found = await ask(conn, 'execute', 'SELECT ? AS one, LENGTH(?) AS two', [text, text]);
    const [row] = name === 'mariadb' ? found : found[0];
    return [row.one.length, row.two];
}

async function many() {
    const pool = driver.createPool({ ...place, connectionLimit: 10 });
    const asked = Array.from({ length: 200 }, (_, i) => pool.query(`SELECT ${i} AS i`));
    const found = (await Promise.all(asked)).map((rows) => (name === 'mariadb' ? rows[0].i : rows[0][0].i));
    await pool.end();
    return found;
}

const conn = await dial();
for (const [i, statement] of statements.entries()) {
    await check(`text ${i}`, () => ask(conn, 'query', statement));
}
for (const [i, statement] of statements.entries()) {
    await check(`binary ${i}`, () => ask(conn, 'execute', statement));
}
await check('parameters', () => ask(conn, 'execute', 'SELECT ?, ?, ?, ?',
    [7, "naïve ☃'\\", null, Buffer.from([0, 255])]));
await check('several', async () => {
    const several = await dial({ multipleStatements: true });
    const found = await ask(several, 'query', 'SELECT 1; SELECT 2, 3; DO 0; SELECT 4');
    await several.end();
    return found;
});
await check('transaction', () => transaction(conn));
await check('large', () => large(conn));
await check('kill', () => kill(conn));
await check('ping', () => conn.ping());
await check('many', many);
await check('wrong', () => dial({ password: 'wrong' }));
await check('database', () => dial({ database: 'nowhere' }));
await conn.end();
process.exit(0);
