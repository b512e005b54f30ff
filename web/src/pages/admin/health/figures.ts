/* SPDX-License-Identifier: MIT */
/* Figures of the gateway, as Prometheus has them, and what is plotted of them over the minutes that a
 * page is open. */
export type Figures = Map<string, number>; /* "name" summed over its labels */

export interface Look {
    at: number; /* milliseconds */
    figures: Figures;
}

export function figuresOf(text: string): Figures {
    const figures: Figures = new Map();
    for (const line of text.split("\n")) {
        const found = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$/.exec(line);
        if (found !== null) {
            const name = found[1] ?? "";
            figures.set(name, (figures.get(name) ?? 0) + Number(found[3]));
        }
    }
    return figures;
}

export const LOOKS_MAX = 120;

export interface Plotted {
    name: string;
    title: string;
    unit: string;
    isRate: boolean; /* how much it grew in a second */
    over?: string; /* divided by this one: an average */
}

/* Of each look but the first, for rates; a counter that fell was begun anew. */
export function valuesOf(looks: Look[], { name, isRate, over }: Plotted): number[] {
    const at = (look: Look, figure: string): number => look.figures.get(figure) ?? 0;
    if (!isRate && over === undefined) {
        return looks.map((look) => at(look, name));
    }
    return looks.slice(1).map((look, index) => {
        const before = looks[index] ?? look;
        const grown = Math.max(0, at(look, name) - at(before, name));
        if (over !== undefined) {
            const count = at(look, over) - at(before, over);
            return count > 0 ? grown / count : 0;
        }
        return grown / Math.max(0.001, (look.at - before.at) / 1000);
    });
}

/* Points of a line in a field of that size. */
export function pointsOf(values: number[], width: number, height: number): string {
    const most = Math.max(...values, Number.MIN_VALUE);
    const step = width / Math.max(1, LOOKS_MAX - 1);
    const from = width - step * (values.length - 1);
    return values
        .map(
            (value, index) =>
                `${(from + index * step).toFixed(1)},${(height - (value / most) * height).toFixed(1)}`,
        )
        .join(" ");
}
