/* SPDX-License-Identifier: MIT */
/* Tables of the connection, and their columns once they are asked for. A name that is clicked is
 * written where the cursor is. */
import { ScrollArea, Text, TextInput, UnstyledButton } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";

import { get, part } from "../../shared/api/client";
import type { TableColumn, TableList } from "../../shared/api/types";
import { Icon } from "../../shared/icons";
import { Problem, Waiting } from "../../shared/parts";
import { texts } from "./texts";

const COLUMNS_OF_MAX = 12; /* tables in the text whose columns are known to the completion */

export interface Relation {
    schema: string;
    name: string;
}

export function useTables(connection: string, search = "") {
    return useQuery({
        queryKey: ["tables", connection, search],
        queryFn: ({ signal }) =>
            get<TableList>(`connections/${part(connection)}/tables`, { search }, signal),
        staleTime: 300_000,
        placeholderData: keepPreviousData,
    });
}

function columnsQuery(connection: string, { schema, name }: Relation) {
    return {
        queryKey: ["columns", connection, schema, name],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
            get<{ columns: TableColumn[] }>(
                `connections/${part(connection)}/columns`,
                { schema, table: name },
                signal,
            ),
        staleTime: 300_000,
    };
}

/* What completion knows: all tables, and the columns of those that the text names. */
export function useCompletion(connection: string, text: string): Record<string, string[]> {
    const tables = useTables(connection).data;
    const all = useMemo(
        () =>
            (tables?.schemas ?? []).flatMap((schema) =>
                schema.tables.map((name) => ({ schema: schema.name, name })),
            ),
        [tables],
    );
    const words = useMemo(() => new Set(text.toLowerCase().match(/[\w$]+/g) ?? []), [text]);
    const named = all.filter(({ name }) => words.has(name.toLowerCase())).slice(0, COLUMNS_OF_MAX);
    const columns = useQueries({
        queries: named.map((relation) => columnsQuery(connection, relation)),
    });
    const key =
        all.length +
        columns.map((query) => query.data?.columns.length ?? 0).join() +
        named.map(({ name }) => name).join();
    return useMemo(() => {
        const known: Record<string, string[]> = Object.fromEntries(
            all.map(({ name }) => [name, []]),
        );
        named.forEach(({ name }, index) => {
            known[name] = columns[index]?.data?.columns.map((column) => column.name) ?? [];
        });
        return known;
    }, [key]);
}

function Columns({
    connection,
    relation,
    insert,
}: {
    connection: string;
    relation: Relation;
    insert: (text: string) => void;
}): ReactNode {
    const columns = useQuery(columnsQuery(connection, relation));
    if (columns.error !== null) {
        return (
            <Problem
                error={columns.error}
                retry={() => {
                    void columns.refetch();
                }}
            />
        );
    }
    return (
        <ul className="schema-columns">
            {(columns.data?.columns ?? []).map((column) => (
                <li key={column.name}>
                    <UnstyledButton className="schema-line" onClick={() => insert(column.name)}>
                        <span className="anywhere">{column.name}</span>
                        <small>
                            {column.type}
                            {column.is_primary_key ? " · key" : ""}
                        </small>
                    </UnstyledButton>
                </li>
            ))}
        </ul>
    );
}

export function SchemaTree({
    connection,
    insert,
}: {
    connection: string;
    insert: (text: string) => void;
}): ReactNode {
    const [text, setText] = useState("");
    const [search] = useDebouncedValue(text.trim(), 250);
    const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
    const tables = useTables(connection, search);
    const toggle = (key: string): void =>
        setOpen((before) => {
            const after = new Set(before);
            if (!after.delete(key)) {
                after.add(key);
            }
            return after;
        });
    const schemas = tables.data?.schemas ?? [];
    return (
        <div className="schema">
            <TextInput
                size="xs"
                type="search"
                placeholder={texts.filter}
                aria-label={texts.filter}
                value={text}
                onChange={(event) => setText(event.currentTarget.value)}
                m={8}
            />
            <ScrollArea
                flex={1}
                type="auto"
                viewportProps={{ tabIndex: 0, "aria-label": texts.schema, role: "region" }}
            >
                {tables.error !== null && (
                    <Problem
                        error={tables.error}
                        retry={() => {
                            void tables.refetch();
                        }}
                    />
                )}
                {tables.isPending && <Waiting lines={3} />}
                {tables.data !== undefined && schemas.length === 0 && (
                    <Text size="sm" c="dimmed" p="sm">
                        {texts.noTables}
                    </Text>
                )}
                {schemas.map((schema) => (
                    <div key={schema.name}>
                        <p className="schema-name">{schema.name}</p>
                        <ul className="schema-tables">
                            {schema.relations.map(({ name, type }) => {
                                const key = `${schema.name}.${name}`;
                                const isOpen = open.has(key);
                                return (
                                    <li key={name}>
                                        <UnstyledButton
                                            className="schema-line"
                                            aria-expanded={isOpen}
                                            onClick={() => toggle(key)}
                                        >
                                            <span
                                                className={
                                                    isOpen
                                                        ? "schema-arrow schema-open"
                                                        : "schema-arrow"
                                                }
                                            >
                                                <Icon name="right" size={12} />
                                            </span>
                                            <span className="anywhere">{name}</span>
                                            {type !== "table" && <small>{type}</small>}
                                        </UnstyledButton>
                                        {isOpen && (
                                            <Columns
                                                connection={connection}
                                                relation={{ schema: schema.name, name }}
                                                insert={insert}
                                            />
                                        )}
                                    </li>
                                );
                            })}
                        </ul>
                    </div>
                ))}
                {tables.data?.has_more === true && (
                    <Text size="sm" c="dimmed" p="sm">
                        {texts.more}
                    </Text>
                )}
            </ScrollArea>
        </div>
    );
}
