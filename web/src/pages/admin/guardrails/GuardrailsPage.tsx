/* SPDX-License-Identifier: MIT */
/* Guard rails, each said in sentences; presets; and the editor, which stands in the address. */
import { Button, Group, Modal, Stack, Switch, Text, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { useSearchParams } from "wouter";

import { useMe } from "../../../app/me";
import { get, part, post, put, remove } from "../../../shared/api/client";
import { useFocusBack } from "../../../shared/focus";
import { Icon } from "../../../shared/icons";
import { Confirm, Empty, PageHead, Problem, Tag, Waiting } from "../../../shared/parts";
import { ConnectionsPicker, useConnectionNames } from "../../../shared/pickers";
import { GuardrailEditor } from "./GuardrailEditor";
import { draftsOf, type Guardrail, sentenceOf } from "./rules";
import { texts } from "./texts";

const words = texts.list;
const SENTENCES_SHOWN = 4;
const NAMES_SHOWN = 6;

interface Rulepack {
    name: string;
    title: string;
    description: string;
    connection_ids: string[];
}

/* On which connections a preset is: what is taken away is detached, what is new is attached. */
function Attach({ pack, close }: { pack: Rulepack; close: () => void }): ReactNode {
    useFocusBack();
    const client = useQueryClient();
    const [ids, setIds] = useState<string[]>(pack.connection_ids);
    const [isBusy, setBusy] = useState(false);
    const [error, setError] = useState<unknown>(null);
    const save = async (): Promise<void> => {
        setError(null);
        setBusy(true);
        const path = `rulepacks/${part(pack.name)}`;
        const gone = pack.connection_ids.filter((id) => !ids.includes(id));
        const added = ids.filter((id) => !pack.connection_ids.includes(id));
        try {
            if (gone.length > 0) {
                await post(`${path}/detach`, { connection_ids: gone });
            }
            if (added.length > 0) {
                await post(`${path}/attach`, { connection_ids: added });
            }
            await client.invalidateQueries();
            close();
        } catch (failure) {
            setError(failure);
        }
        setBusy(false);
    };
    return (
        <Modal opened onClose={close} title={pack.title}>
            <form
                onSubmit={(event: FormEvent) => {
                    event.preventDefault();
                    void save();
                }}
            >
                <Stack>
                    <Text size="sm">{pack.description}</Text>
                    <ConnectionsPicker label={words.where} value={ids} set={setIds} />
                    {error !== null && <Problem error={error} />}
                    <Group justify="flex-end">
                        <Button variant="default" onClick={close}>
                            {words.cancel}
                        </Button>
                        <Button type="submit" loading={isBusy}>
                            {words.save}
                        </Button>
                    </Group>
                </Stack>
            </form>
        </Modal>
    );
}

export function Where({ ids, attributes }: { ids: string[]; attributes: string[] }): ReactNode {
    const names = useConnectionNames(ids.slice(0, NAMES_SHOWN));
    const shown = [
        ...ids.slice(0, NAMES_SHOWN).map((id) => names.get(id) ?? "…"),
        ...attributes.map((attribute) => `#${attribute}`),
    ];
    const more = ids.length - NAMES_SHOWN;
    return (
        <Text size="sm" c="dimmed" className="anywhere">
            {shown.length === 0 ? words.nowhere : words.on(shown.join(", "))}{" "}
            {more > 0 && words.more(more)}
        </Text>
    );
}

/* All that a guard rail is, with the switch the other way. */
function EnabledSwitch({ guardrail }: { guardrail: Guardrail }): ReactNode {
    const client = useQueryClient();
    const turn = useMutation({
        mutationFn: () => {
            const { name, description, input, output, connection_ids, attributes } = guardrail;
            return put(`guardrails/${part(guardrail.id)}`, {
                name,
                description,
                input,
                output,
                connection_ids,
                attributes,
                enabled: guardrail.enabled === false,
            });
        },
        onSettled: () => client.invalidateQueries(),
    });
    return (
        <>
            <Switch
                label={words.enabled}
                aria-label={`${words.enabled}: ${guardrail.name}`}
                checked={guardrail.enabled !== false}
                disabled={turn.isPending}
                onChange={() => turn.mutate()}
            />
            {turn.error !== null && <Problem error={turn.error} />}
        </>
    );
}

function Line({ guardrail, gone }: { guardrail: Guardrail; gone: () => void }): ReactNode {
    const me = useMe();
    const [, setQuery] = useSearchParams();
    const drafts = draftsOf(guardrail);
    const isManaged = Boolean(guardrail.managed_by);
    return (
        <div className="admin-line" data-guardrail={guardrail.name}>
            <div>
                <Text fw={600} className="anywhere">
                    {guardrail.name}
                </Text>
                {drafts.slice(0, SENTENCES_SHOWN).map(({ key, direction, rule }) => (
                    <Text key={key} size="sm" className="anywhere">
                        {sentenceOf(direction, rule)}
                    </Text>
                ))}
                {drafts.length > SENTENCES_SHOWN && (
                    <Text size="sm">{words.more(drafts.length - SENTENCES_SHOWN)}</Text>
                )}
                <Where ids={guardrail.connection_ids} attributes={guardrail.attributes} />
            </div>
            {isManaged && <Tag>{words.managed}</Tag>}
            {guardrail.enabled === false && <Tag tone="warn">{words.off}</Tag>}
            {me.is_admin && !isManaged && (
                <Group gap="xs">
                    <EnabledSwitch guardrail={guardrail} />
                    <Button
                        size="xs"
                        variant="default"
                        aria-label={`${words.edit} ${guardrail.name}`}
                        onClick={() => setQuery({ edit: guardrail.id })}
                    >
                        {words.edit}
                    </Button>
                    <Button
                        size="xs"
                        variant="subtle"
                        color="red"
                        aria-label={`${words.remove} ${guardrail.name}`}
                        onClick={gone}
                    >
                        {words.remove}
                    </Button>
                </Group>
            )}
        </div>
    );
}

function Packs(): ReactNode {
    const me = useMe();
    const [pack, setPack] = useState<Rulepack | null>(null);
    const packs = useQuery({
        queryKey: ["rulepacks"],
        queryFn: ({ signal }) => get<Rulepack[]>("rulepacks", {}, signal),
    });
    return (
        <>
            <Title order={2} size="h4" mt="xl">
                {words.presets}
            </Title>
            <Text size="sm" c="dimmed" mb="sm">
                {words.presetsAbout}
            </Text>
            {packs.error !== null && (
                <Problem
                    error={packs.error}
                    retry={() => {
                        void packs.refetch();
                    }}
                />
            )}
            <div className="card rows">
                {(packs.data ?? []).map((one) => (
                    <div key={one.name} className="admin-line" data-pack={one.name}>
                        <div>
                            <Text fw={600} className="anywhere">
                                {one.title}
                            </Text>
                            <Text size="sm" className="anywhere">
                                {one.description}
                            </Text>
                            <Where ids={one.connection_ids} attributes={[]} />
                        </div>
                        {me.is_admin && (
                            <Button
                                size="xs"
                                variant="default"
                                onClick={() => setPack(one)}
                                aria-label={`${one.connection_ids.length > 0 ? words.change : words.attach}: ${one.title}`}
                            >
                                {one.connection_ids.length > 0 ? words.change : words.attach}
                            </Button>
                        )}
                    </div>
                ))}
            </div>
            {pack !== null && <Attach pack={pack} close={() => setPack(null)} />}
        </>
    );
}

export function GuardrailsPage(): ReactNode {
    const me = useMe();
    const client = useQueryClient();
    const [query, setQuery] = useSearchParams();
    const [going, setGoing] = useState<Guardrail | null>(null);
    const list = useQuery({
        queryKey: ["guardrails"],
        queryFn: ({ signal }) => get<Guardrail[]>("guardrails", {}, signal),
    });
    const edited = query.get("edit");
    const found = list.data?.find(({ id, name }) => id === edited || name === edited);
    if (query.has("new") || found !== undefined) {
        return <GuardrailEditor key={found?.id ?? ""} guardrail={found ?? null} />;
    }
    const add = me.is_admin && (
        <Button leftSection={<Icon name="plus" />} onClick={() => setQuery({ new: "" })}>
            {words.add}
        </Button>
    );
    return (
        <>
            <PageHead title={words.title} about={words.about}>
                {add}
            </PageHead>
            {list.error !== null && (
                <Problem
                    error={list.error}
                    retry={() => {
                        void list.refetch();
                    }}
                />
            )}
            {list.isPending && <Waiting lines={2} />}
            {list.data?.length === 0 && (
                <Empty title={words.none} action={add}>
                    {words.noneAbout}
                </Empty>
            )}
            <div className="card rows" hidden={(list.data ?? []).length === 0} id="guardrails">
                {(list.data ?? []).map((guardrail) => (
                    <Line
                        key={guardrail.id}
                        guardrail={guardrail}
                        gone={() => setGoing(guardrail)}
                    />
                ))}
            </div>
            <Packs />
            {going !== null && (
                <Confirm
                    title={words.removeTitle(going.name)}
                    action={words.remove}
                    name={going.name}
                    close={() => setGoing(null)}
                    run={async () => {
                        await remove(`guardrails/${part(going.id)}`);
                        await client.invalidateQueries();
                    }}
                >
                    {words.removeAbout}
                </Confirm>
            )}
        </>
    );
}
