/* SPDX-License-Identifier: MIT */
/* Fields in which somebody picks some of what is there: connections, groups, attributes; and lists
 * of free words. */
import { MultiSelect, TagsInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { ApiError, get, part } from "./api/client";
import type { Connection, Page } from "./api/types";

interface Picker {
    label: string;
    about?: string | undefined;
    value: string[];
    set: (value: string[]) => void;
    required?: boolean;
    placeholder?: string | undefined;
}

const SHOWN = 50;

/* The connections that a search finds, and those that are picked already: by id or by name. */
export function useConnectionNames(ids: string[]): Map<string, string> {
    const found = useQueries({
        queries: ids.slice(0, SHOWN).map((id) => ({
            queryKey: ["connections", "one", id],
            queryFn: () =>
                get<Connection>(`connections/${part(id)}`).catch((error: unknown) => {
                    if (error instanceof ApiError && error.status === 404) {
                        return null; /* it is gone */
                    }
                    throw error;
                }),
            staleTime: 60_000,
        })),
    });
    return new Map(
        found.flatMap(({ data }) => (data == null ? [] : [[data.id, data.name] as const])),
    );
}

export function ConnectionsPicker({
    by = "id",
    label,
    about,
    value,
    set,
    required = false,
}: Picker & { by?: "id" | "name" }): ReactNode {
    const [text, setText] = useState("");
    const [search] = useDebouncedValue(text.trim(), 150);
    const names = useConnectionNames(by === "id" ? value : []);
    const found = useQuery({
        queryKey: ["connections", "pick", search],
        queryFn: ({ signal }) =>
            get<Page<Connection>>("connections", { search, page_size: SHOWN }, signal),
        placeholderData: keepPreviousData,
    });
    const choices = new Map<string, string>(
        value.map((one) => [one, by === "id" ? (names.get(one) ?? "…") : one]),
    );
    for (const connection of found.data?.data ?? []) {
        choices.set(by === "id" ? connection.id : connection.name, connection.name);
    }
    return (
        <MultiSelect
            label={label}
            description={about}
            required={required}
            searchable
            clearable
            hidePickedOptions
            nothingFoundMessage="No connection has such a name"
            value={value}
            searchValue={text}
            onSearchChange={setText}
            onChange={set}
            data={[...choices].map(([key, name]) => ({ value: key, label: name }))}
            clearButtonProps={{ "aria-label": `Clear ${label}` }}
        />
    );
}

/* Rules of a kind, by id. */
export function RulesPicker({
    path,
    label,
    about,
    value,
    set,
}: Picker & { path: "guardrails" | "datamasking-rules" }): ReactNode {
    const rules = useQuery({
        queryKey: [path],
        queryFn: ({ signal }) => get<{ id: string; name: string }[]>(path, {}, signal),
    });
    const names = new Map((rules.data ?? []).map(({ id, name }) => [id, name]));
    const ids = new Set([...names.keys(), ...value]);
    return (
        <MultiSelect
            label={label}
            description={about}
            searchable
            clearable
            hidePickedOptions
            nothingFoundMessage="No rule has such a name"
            value={value}
            onChange={set}
            data={[...ids].map((id) => ({ value: id, label: names.get(id) ?? "…" }))}
            clearButtonProps={{ "aria-label": `Clear ${label}` }}
        />
    );
}

/* Names that are there are offered; others may be typed. */
function NamesPicker({ label, about, value, set, placeholder, names }: Picker & {
    names: string[];
}): ReactNode {
    return (
        <TagsInput
            label={label}
            description={about}
            placeholder={value.length === 0 ? placeholder : undefined}
            value={value}
            onChange={set}
            data={names}
            clearable
            acceptValueOnBlur
            clearButtonProps={{ "aria-label": `Clear ${label}` }}
        />
    );
}

export function GroupsPicker(props: Picker): ReactNode {
    const groups = useQuery({
        queryKey: ["groups"],
        queryFn: ({ signal }) => get<string[]>("users/groups", {}, signal),
    });
    return <NamesPicker {...props} names={groups.data ?? []} />;
}

export function AttributesPicker(props: Picker): ReactNode {
    const attributes = useQuery({
        queryKey: ["attributes", "names"],
        queryFn: ({ signal }) =>
            get<Page<{ name: string }>>("attributes", { page_size: 100 }, signal),
    });
    return <NamesPicker {...props} names={(attributes.data?.data ?? []).map(({ name }) => name)} />;
}

/* Free words, one after the other with Enter. */
export function WordsField(props: Picker & { names?: string[] }): ReactNode {
    return <NamesPicker {...props} names={props.names ?? []} />;
}
