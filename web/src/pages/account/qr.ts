/* SPDX-License-Identifier: MIT */
/* A QR code (ISO/IEC 18004) of a text: bytes, error correction M, the smallest version of 1 to 15
 * that holds it. Nothing of it leaves the page. */

/* Of each version at M: error correction bytes a block, and the data bytes of its blocks. */
const BLOCKS: [number, number[]][] = [
    [10, [16]],
    [16, [28]],
    [26, [44]],
    [18, [32, 32]],
    [24, [43, 43]],
    [16, [27, 27, 27, 27]],
    [18, [31, 31, 31, 31]],
    [22, [38, 38, 39, 39]],
    [22, [36, 36, 36, 37, 37]],
    [26, [43, 43, 43, 43, 44]],
    [30, [50, 51, 51, 51, 51]],
    [22, [36, 36, 36, 36, 36, 36, 37, 37]],
    [22, [37, 37, 37, 37, 37, 37, 37, 37, 38]],
    [24, [40, 40, 40, 40, 41, 41, 41, 41, 41]],
    [24, [41, 41, 41, 41, 41, 42, 42, 42, 42, 42]],
];
/* Where alignment patterns are centred, beside 6 and the last place. */
const MIDDLES: number[][] = [
    [], [], [], [], [], [], [22], [24], [26], [28], [30], [32], [34], [26, 46], [26, 48],
];
const BYTE_MODE = 0b0100;
const LEVEL_M = 0b00;
const FORMAT_MASK = 0b101010000010010;

/* Numbers of GF(256) with the polynomial 0x11d, as powers of 2. */
const POWER: number[] = [];
const LOG: number[] = [];
for (let power = 0, value = 1; power < 255; power++) {
    POWER[power] = value;
    LOG[value] = power;
    value = value & 0x80 ? (value << 1) ^ 0x11d : value << 1;
}
const at = (list: readonly number[], index: number): number => list[index] ?? 0;
const times = (a: number, b: number): number =>
    a === 0 || b === 0 ? 0 : at(POWER, (at(LOG, a) + at(LOG, b)) % 255);

/* The remainder of the data, as a polynomial, by (x - 1)(x - 2)(x - 4)… */
export function correctionOf(data: number[], size: number): number[] {
    let generator = [1];
    for (let power = 0; power < size; power++) {
        generator = [...generator, 0].map(
            (value, index) => value ^ times(at(POWER, power), at(generator, index - 1)),
        );
    }
    const rest = [...data, ...Array<number>(size).fill(0)];
    data.forEach((_, start) => {
        const factor = at(rest, start);
        generator.forEach((value, index) => {
            rest[start + index] = at(rest, start + index) ^ times(value, factor);
        });
    });
    return rest.slice(data.length);
}

/* The code with its remainder by a polynomial behind it: what format and version are guarded by. */
function guarded(value: number, polynomial: number): number {
    const size = 31 - Math.clz32(polynomial);
    let rest = value << size;
    for (let bit = 31 - Math.clz32(rest || 1); bit >= size; bit--) {
        rest ^= (rest >> bit) & 1 ? polynomial << (bit - size) : 0;
    }
    return (value << size) | rest;
}

const sum = (numbers: number[]): number => numbers.reduce((all, one) => all + one, 0);
const lengthBits = (version: number): number => (version < 10 ? 8 : 16);

function codewordsOf(bytes: Uint8Array, version: number): number[] {
    const [correction, blocks] = BLOCKS[version - 1]!;
    const capacity = sum(blocks);
    const bits: number[] = [];
    const put = (value: number, count: number): void => {
        for (let bit = count - 1; bit >= 0; bit--) {
            bits.push((value >> bit) & 1);
        }
    };
    put(BYTE_MODE, 4);
    put(bytes.length, lengthBits(version));
    bytes.forEach((byte) => put(byte, 8));
    put(0, Math.min(4, capacity * 8 - bits.length));
    put(0, (8 - (bits.length % 8)) % 8);
    for (let pad = 0xec; bits.length < capacity * 8; pad ^= 0xec ^ 0x11) {
        put(pad, 8);
    }
    const data = Array.from({ length: capacity }, (_, index) =>
        bits.slice(index * 8, index * 8 + 8).reduce((byte, bit) => (byte << 1) | bit, 0),
    );
    let start = 0;
    const parts = blocks.map((size) => data.slice(start, (start += size)));
    const guards = parts.map((part) => correctionOf(part, correction));
    const turns = (lists: number[][]): number[] =>
        Array.from({ length: Math.max(...lists.map((list) => list.length)) }, (_, index) =>
            lists.filter((list) => index < list.length).map((list) => at(list, index)),
        ).flat();
    return [...turns(parts), ...turns(guards)];
}

/* Rows of dark (true) and light; 'isFixed' says what is no data. */
class Modules {
    readonly dark: boolean[][];
    readonly isFixed: boolean[][];
    constructor(readonly size: number) {
        this.dark = Array.from({ length: size }, () => Array<boolean>(size).fill(false));
        this.isFixed = Array.from({ length: size }, () => Array<boolean>(size).fill(false));
    }
    set(row: number, column: number, isDark: boolean): void {
        if (row >= 0 && row < this.size && column >= 0 && column < this.size) {
            this.dark[row]![column] = isDark;
            this.isFixed[row]![column] = true;
        }
    }
    /* Squares around a middle, dark and light by turns. */
    rings(row: number, column: number, reach: number, isDark: (ring: number) => boolean): void {
        for (let down = -reach; down <= reach; down++) {
            for (let right = -reach; right <= reach; right++) {
                const ring = Math.max(Math.abs(down), Math.abs(right));
                this.set(row + down, column + right, isDark(ring));
            }
        }
    }
}

function drawPatterns(modules: Modules, version: number): void {
    const last = modules.size - 7;
    for (let index = 0; index < modules.size; index++) {
        modules.set(6, index, index % 2 === 0);
        modules.set(index, 6, index % 2 === 0);
    }
    for (const [row, column] of [[3, 3], [3, modules.size - 4], [modules.size - 4, 3]] as const) {
        modules.rings(row, column, 4, (ring) => ring !== 2 && ring !== 4);
    }
    const middles = version === 1 ? [] : [6, ...MIDDLES[version - 1]!, last];
    for (const row of middles) {
        for (const column of middles) {
            const isFinder = Math.min(row, column) === 6 && [6, last].includes(Math.max(row, column));
            if (!isFinder) {
                modules.rings(row, column, 2, (ring) => ring !== 1);
            }
        }
    }
}

function drawFormat(modules: Modules, mask: number): void {
    const bits = guarded((LEVEL_M << 3) | mask, 0b10100110111) ^ FORMAT_MASK;
    const { size } = modules;
    for (let index = 0; index < 15; index++) {
        const isDark = ((bits >> index) & 1) === 1;
        /* Down the column beside the first finder, and along the row below it; a second time
         * below and beside the other two. The timing patterns are stepped over. */
        modules.set(index < 6 ? index : index < 8 ? index + 1 : size - 15 + index, 8, isDark);
        modules.set(8, index < 8 ? size - 1 - index : index === 8 ? 7 : 14 - index, isDark);
    }
    modules.set(size - 8, 8, true);
}

function drawVersion(modules: Modules, version: number): void {
    const bits = guarded(version, 0b1111100100101);
    for (let index = 0; version >= 7 && index < 18; index++) {
        const isDark = ((bits >> index) & 1) === 1;
        const far = modules.size - 11 + (index % 3);
        modules.set(Math.floor(index / 3), far, isDark);
        modules.set(far, Math.floor(index / 3), isDark);
    }
}

/* Up and down in pairs of columns, from the right; the column of the timing pattern is none. */
function drawData(modules: Modules, codewords: number[]): void {
    let bit = 0;
    let isUp = true;
    for (let right = modules.size - 1; right > 0; right -= 2) {
        right = right === 6 ? 5 : right;
        for (let step = 0; step < modules.size; step++) {
            const row = isUp ? modules.size - 1 - step : step;
            for (const column of [right, right - 1]) {
                if (!modules.isFixed[row]![column]) {
                    modules.dark[row]![column] =
                        ((at(codewords, bit >> 3) >> (7 - (bit & 7))) & 1) === 1;
                    bit++;
                }
            }
        }
        isUp = !isUp;
    }
}

const MASKS: ((row: number, column: number) => boolean)[] = [
    (row, column) => (row + column) % 2 === 0,
    (row) => row % 2 === 0,
    (_, column) => column % 3 === 0,
    (row, column) => (row + column) % 3 === 0,
    (row, column) => (Math.floor(row / 2) + Math.floor(column / 3)) % 2 === 0,
    (row, column) => ((row * column) % 2) + ((row * column) % 3) === 0,
    (row, column) => (((row * column) % 2) + ((row * column) % 3)) % 2 === 0,
    (row, column) => (((row + column) % 2) + ((row * column) % 3)) % 2 === 0,
];

/* How hard a code is to read: runs, blocks, what looks like a finder, and too much of one colour. */
function penaltyOf(dark: boolean[][]): number {
    const size = dark.length;
    const columns = dark.map((_, column) => dark.map((row) => row[column] === true));
    const lines = [...dark, ...columns].map((line) => line.map((one) => (one ? "1" : "0")).join(""));
    let penalty = 0;
    for (const line of lines) {
        for (const run of line.match(/0{5,}|1{5,}/g) ?? []) {
            penalty += run.length - 2;
        }
        penalty += 40 * (line.match(/(?=10111010000|00001011101)/g) ?? []).length;
    }
    for (let row = 1; row < size; row++) {
        for (let column = 1; column < size; column++) {
            const one = dark[row]![column];
            const isBlock =
                dark[row - 1]![column] === one &&
                dark[row]![column - 1] === one &&
                dark[row - 1]![column - 1] === one;
            penalty += isBlock ? 3 : 0;
        }
    }
    const share = (dark.flat().filter(Boolean).length * 100) / (size * size);
    return penalty + 10 * Math.floor(Math.abs(share - 50) / 5);
}

function drawn(codewords: number[], version: number, mask: number): boolean[][] {
    const modules = new Modules(17 + 4 * version);
    drawPatterns(modules, version);
    drawFormat(modules, mask);
    drawVersion(modules, version);
    drawData(modules, codewords);
    return modules.dark.map((line, row) =>
        line.map((one, column) =>
            modules.isFixed[row]![column] ? one : one !== MASKS[mask]!(row, column),
        ),
    );
}

/* Rows of dark modules; null when the text is too long. */
export function qrOf(text: string, wantedMask?: number): boolean[][] | null {
    const bytes = new TextEncoder().encode(text);
    const version =
        1 +
        BLOCKS.findIndex(
            ([, blocks], index) =>
                4 + lengthBits(index + 1) + bytes.length * 8 <= sum(blocks) * 8,
        );
    if (version === 0) {
        return null;
    }
    const codewords = codewordsOf(bytes, version);
    const masks = wantedMask === undefined ? MASKS.map((_, mask) => mask) : [wantedMask];
    return masks
        .map((mask) => drawn(codewords, version, mask))
        .map((dark) => ({ dark, penalty: penaltyOf(dark) }))
        .reduce((best, one) => (one.penalty < best.penalty ? one : best)).dark;
}
