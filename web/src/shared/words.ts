/* SPDX-License-Identifier: MIT */
/* Numbers and times as people read them; in the reader's language and zone. */

const DAY_SECONDS = 86400;

export function time(iso: string): string {
    return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/* "3 minutes ago", "in 2 hours". */
export function relative(iso: string, now: number = Date.now()): string {
    const seconds = (Date.parse(iso) - now) / 1000;
    const size = Math.abs(seconds);
    const format = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
    if (size < 60) {
        return format.format(Math.round(seconds), "second");
    }
    if (size < 3600) {
        return format.format(Math.round(seconds / 60), "minute");
    }
    if (size < 2 * DAY_SECONDS) {
        return format.format(Math.round(seconds / 3600), "hour");
    }
    return format.format(Math.round(seconds / DAY_SECONDS), "day");
}

export function duration(milliseconds: number): string {
    if (milliseconds < 1) {
        return "under 1 ms";
    }
    if (milliseconds < 1000) {
        return `${Math.round(milliseconds)} ms`;
    }
    const seconds = milliseconds / 1000;
    if (seconds < 60) {
        return `${seconds.toFixed(1)} s`;
    }
    const minutes = Math.floor(seconds / 60);
    return minutes < 60
        ? `${minutes} min ${Math.floor(seconds % 60)} s`
        : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytes(count: number): string {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    const step = count < 1 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), units.length - 1);
    return `${step === 0 ? count : (count / 2 ** (10 * step)).toFixed(1)} ${units[step]}`;
}

const MANY: Record<string, string> = { person: "people", "machine identity": "machine identities" };

export function count(number: number, one: string, many: string = MANY[one] ?? `${one}s`): string {
    return `${number.toLocaleString()} ${number === 1 ? one : many}`;
}

/* Seconds as what is left of them: "59 min", "1 h 5 min", "40 s". */
export function left(seconds: number): string {
    if (seconds < 90) {
        return `${Math.max(0, Math.floor(seconds))} s`;
    }
    const minutes = Math.floor(seconds / 60);
    return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const NAMES: Record<string, string> = {
    postgres: "PostgreSQL",
    mysql: "MySQL",
    mariadb: "MariaDB",
    mssql: "SQL Server",
    mongodb: "MongoDB",
    oracledb: "Oracle",
    tcp: "TCP",
    ssh: "SSH",
    httpproxy: "HTTP",
};

/* Of what kind a connection is. */
export function kindName(type: string, subtype: string): string {
    return NAMES[subtype] ?? NAMES[type] ?? (subtype || type);
}
