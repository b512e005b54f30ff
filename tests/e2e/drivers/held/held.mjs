// SPDX-License-Identifier: MIT
// Runs the statement in the arguments with a value, with all settings as node-postgres has them.
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.NODE_FOLDER}/`);
const pg = require('pg');
const client = new pg.Client();
await client.connect();
console.log((await client.query(`${process.argv[2]}$1`, [process.argv[3]])).rowCount);
await client.end();
