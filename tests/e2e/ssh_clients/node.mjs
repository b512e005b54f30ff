// SPDX-License-Identifier: MIT
// ssh2 through the gateway: PORT USER PASSWORD HOST-KEY-IN-BASE64.
import { strict as assert } from "node:assert";
import { createRequire } from "node:module";

const { Client } = createRequire(`${process.env.NODE_FOLDER}/`)("ssh2");
const [port, username, password, hostKey] = process.argv.slice(2);

function run(client, command, input) {
    return new Promise((resolve, reject) => {
        client.exec(command, (error, stream) => {
            if (error) {
                reject(error);
                return;
            }
            const out = [];
            const errors = [];
            stream.on("data", (data) => out.push(data));
            stream.stderr.on("data", (data) => errors.push(data));
            stream.on("close", (code) =>
                resolve({ code, out: Buffer.concat(out), errors: Buffer.concat(errors).toString() }));
            stream.end(input);
        });
    });
}

const client = new Client();
await new Promise((resolve, reject) => {
    client.on("ready", resolve).on("error", reject);
    client.connect({
        host: "127.0.0.1", port: Number(port), username, password, readyTimeout: 60000,
        hostVerifier: (key) => key.toString("base64") === hostKey,
    });
});
const done = await run(client, "echo out; echo err >&2; exit 7");
assert.deepEqual({ ...done, out: done.out.toString() }, { code: 7, out: "out\n", errors: "err\n" });
const data = Buffer.alloc(1 << 20, "0123456789abcdef");
assert.ok((await run(client, "cat", data)).out.equals(data));
await new Promise((resolve, reject) => {
    client.sftp((error, sftp) => {
        if (error) {
            reject(error);
            return;
        }
        sftp.stat("/etc/passwd", (failure, found) =>
            failure ? reject(failure) : resolve(assert.ok(found.size > 0)));
    });
});
client.end();
console.log("ok");
