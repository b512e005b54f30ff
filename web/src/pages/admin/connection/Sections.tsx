/* SPDX-License-Identifier: MIT */
/* The fields of a connection, by what they are about. */
import { Group, NativeSelect, NumberInput, Stack, Switch, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { get } from "../../../shared/api/client";
import type { Agent } from "../../../shared/api/schema";
import type { Connection } from "../../../shared/api/types";
import { When } from "../../../shared/parts";
import { AttributesPicker, GroupsPicker, RulesPicker, WordsField } from "../../../shared/pickers";
import type { Form } from "./form";
import { Arguments } from "./Arguments";
import { Secrets } from "./Secrets";
import { texts } from "./texts";

interface FormPart {
    form: Form;
    set: (change: Partial<Form>) => void;
}
type Named<T> = { [Name in keyof Form]: Form[Name] extends T ? Name : never }[keyof Form];

const { fields, abouts } = texts;

function Section({ of, children }: {
    of: { title: string; about: string };
    children: ReactNode;
}): ReactNode {
    return (
        <section className="form-section" aria-label={of.title}>
            <div>
                <Title order={2} size="h5">
                    {of.title}
                </Title>
                <Text size="sm" c="dimmed" mt={4}>
                    {of.about}
                </Text>
            </div>
            <Stack className="card form-fields">{children}</Stack>
        </section>
    );
}

/* What the fields of the list kinds have in common. */
function listOf(
    { form, set }: FormPart,
    name: Named<string[]>,
): { label: string; about: string | undefined; value: string[]; set: (value: string[]) => void } {
    return {
        label: fields[name],
        about: abouts[name],
        value: form[name],
        set: (value) => set({ [name]: value }),
    };
}

function YesNo({ form, set, name }: FormPart & { name: Named<boolean> }): ReactNode {
    return (
        <Switch
            label={fields[name]}
            description={abouts[name]}
            checked={form[name]}
            onChange={(event) => set({ [name]: event.currentTarget.checked })}
        />
    );
}

function Amount({ form, set, name, least = 1, most }: FormPart & {
    name: Named<number | null>;
    least?: number;
    most: number;
}): ReactNode {
    return (
        <NumberInput
            label={fields[name]}
            description={abouts[name]}
            value={form[name] ?? ""}
            min={least}
            max={most}
            clampBehavior="none"
            maw={420}
            hideControls
            onChange={(value) => set({ [name]: value === "" ? null : Number(value) })}
        />
    );
}

function Target({ connection, inherited, form, set }: FormPart & {
    connection: Connection;
    inherited: string[];
}): ReactNode {
    const agents = useQuery({
        queryKey: ["agents"],
        queryFn: ({ signal }) => get<Agent[]>("agents", {}, signal),
    });
    return (
        <Section of={texts.sections.target}>
            <Secrets
                subtype={connection.subtype}
                secrets={form.secrets}
                inherited={inherited}
                set={(secrets) => set({ secrets })}
            />
            {connection.secrets_updated_at !== null && (
                <Text size="sm" c="dimmed">
                    {texts.secret.changedAt} <When at={connection.secrets_updated_at} />
                </Text>
            )}
            <Group grow align="flex-start" preventGrowOverflow={false}>
                <NativeSelect
                    label={fields.agent_id}
                    value={form.agent_id}
                    miw={200}
                    data={(agents.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
                    onChange={(event) => set({ agent_id: event.currentTarget.value })}
                />
                <TextInput
                    label={fields.resource_name}
                    value={form.resource_name}
                    miw={200}
                    required
                    autoComplete="off"
                    inputWrapperOrder={["label", "input", "description", "error"]}
                    description={abouts.resource_name}
                    onChange={(event) => set({ resource_name: event.currentTarget.value })}
                />
            </Group>
        </Section>
    );
}

export function Sections(props: FormPart & {
    connection: Connection;
    inherited: string[];
}): ReactNode {
    const { form, set } = props;
    const both = { form, set };
    return (
        <>
            <Target {...props} />
            <Section of={texts.sections.uses}>
                <YesNo {...both} name="connects" />
                <YesNo {...both} name="executes" />
                <YesNo {...both} name="shows_schema" />
                <YesNo {...both} name="runs_runbooks" />
                <GroupsPicker {...listOf(both, "groups")} />
                <Amount {...both} name="access_minutes" most={2880} />
            </Section>
            <Section of={texts.sections.rules}>
                <RulesPicker {...listOf(both, "guardrail_rules")} path="guardrails" />
                <RulesPicker {...listOf(both, "masking_rules")} path="datamasking-rules" />
                <AttributesPicker {...listOf(both, "attributes")} />
            </Section>
            <Section of={texts.sections.review}>
                <GroupsPicker {...listOf(both, "reviewers")} />
                <Amount {...both} name="min_review_approvals" most={100} />
                <GroupsPicker {...listOf(both, "force_approve_groups")} />
                <WordsField {...listOf(both, "mandatory_metadata_fields")} />
            </Section>
            <Section of={texts.sections.record}>
                <Amount {...both} name="recording_days" least={0} most={36500} />
                <Amount {...both} name="row_limit_kib" least={0} most={1048576} />
            </Section>
            <Section of={texts.sections.scripts}>
                <Arguments value={form.command} set={(command) => set({ command })} />
                <WordsField {...listOf(both, "accepted_env_vars")} />
                <YesNo {...both} name="accepts_client_args" />
            </Section>
            <Section of={texts.sections.labels}>
                <WordsField {...listOf(both, "connection_tags")} />
                <WordsField {...listOf(both, "tags")} />
            </Section>
        </>
    );
}
