/* SPDX-License-Identifier: MIT */
import { expect, test } from "vitest";

import { correctionOf, qrOf } from "./qr";

/* As libqrencode 4.1.1 makes them of the same texts, in bytes and at M. */
const SHORT = [
    "111111100101101111111",
    "100000100010101000001",
    "101110100101101011101",
    "101110100010101011101",
    "101110100000101011101",
    "100000101001101000001",
    "111111101010101111111",
    "000000000101100000000",
    "100101101100010100000",
    "101110011110010011011",
    "011110111100100101101",
    "001000011111001001000",
    "000111101110100111011",
    "000000001001010000001",
    "111111100100010111110",
    "100000101111110010000",
    "101110100001011110010",
    "101110101111000111011",
    "101110100010100111101",
    "100000100110011110000",
    "111111101101100001010",
];
const URI =
    "otpauth://totp/Gatehouse:grace%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Gatehouse";
const LONG =
    "1fdae6aaa7f 1046dd50441 1756c68bb5d 174875dee5d 17456c8945d 105f8551c41 " +
    "1fd5555557f d1571400 146ff716525 1283a73b22e 1642ba73f41 1e94925164b " +
    "2424623043 119dccb3342 1b4c8eeee55 1a16c0732a9 1e74eb4ab4b 110745511e1 " +
    "6697f6ba51 a3c2460509 2c77f232e7 2ac5fabfc1 2c477e327d 1736c21550a " +
    "6f8c208245 1b148b33e8b 1f50daa6b9f 12b9154749b 18cc8b31062 3a7b139fc0 " +
    "1c75fd76651 7bec341629 19fe08887fa 1ae91151b 1fdf13ba751 1049b96631b " +
    "174ddaf37f5 17462bb3495 175a6223b9d 10496a74108 1fdf96131f5";

const textOf = (dark: boolean[][] | null): string[] =>
    (dark ?? []).map((line) => line.map((one) => (one ? "1" : "0")).join(""));
const anyMask = (text: string): string[][] =>
    [0, 1, 2, 3, 4, 5, 6, 7].map((mask) => textOf(qrOf(text, mask)));

test("the remainder of a known message", () => {
    /* "HELLO WORLD" at 1-M, as the tutorials have it. */
    const data = [32, 91, 11, 120, 209, 114, 220, 77, 67, 64, 236, 17, 236, 17, 236, 17];
    expect(correctionOf(data, 10)).toEqual([196, 35, 39, 119, 235, 215, 231, 226, 93, 23]);
});

test("a small code is the one that others make", () => {
    expect(anyMask("gatehouse")).toContainEqual(SHORT);
});

test("a code of several blocks, with its version written, is the one that others make", () => {
    const rows = LONG.split(" ").map((hex) =>
        BigInt(`0x${hex}`).toString(2).padStart(41, "0"),
    );
    expect(anyMask(URI)).toContainEqual(rows);
});

test("one of the masks is chosen, and what is too long is told", () => {
    expect(anyMask(URI)).toContainEqual(textOf(qrOf(URI)));
    expect(qrOf("x".repeat(412))?.length).toBe(77);
    expect(qrOf("x".repeat(413))).toBeNull();
});
