/* SPDX-License-Identifier: MIT */
/* What a run brought: a tab for each statement, its rows, or why there are none. */
import { Alert, Anchor, Button, Code, Group, Menu, Modal, Stack, Tabs, Text } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { Link } from "wouter";

import type { Column, Statement, Value } from "../../shared/api/types";
import { copyText, download } from "../../shared/copy";
import { useFocusBack } from "../../shared/focus";
import { cellText, type Table, toCsv, toJson, toMarkdown } from "../../shared/grid/formats";
import { Grid } from "../../shared/grid/Grid";
import { Icon } from "../../shared/icons";
import { CopyBlock } from "../../shared/parts";
import { count, duration } from "../../shared/words";
import { Plan } from "./Plan";
import { planOf } from "./steps";
import { ROWS_MAX, type Run } from "./run";
import { texts } from "./texts";

const FORMS = [
    { name: "CSV", extension: "csv", type: "text/csv", make: toCsv },
    { name: "JSON", extension: "json", type: "application/json", make: toJson },
    { name: "Markdown", extension: "md", type: "text/markdown", make: toMarkdown },
];

function Take({ table }: { table: Table }): ReactNode {
    return (
        <Menu position="top-end">
            <Menu.Target>
                <Button
                    size="compact-xs"
                    variant="subtle"
                    leftSection={<Icon name="down" size={14} />}
                >
                    {texts.copy}
                </Button>
            </Menu.Target>
            <Menu.Dropdown>
                {FORMS.map((form) => (
                    <Menu.Item
                        key={form.name}
                        leftSection={<Icon name="copy" />}
                        onClick={() => {
                            void copyText(form.make(table));
                        }}
                    >
                        {texts.copyAs(form.name)}
                    </Menu.Item>
                ))}
                <Menu.Divider />
                {FORMS.map((form) => (
                    <Menu.Item
                        key={form.name}
                        leftSection={<Icon name="down" />}
                        onClick={() =>
                            download(`result.${form.extension}`, form.type, [form.make(table)])
                        }
                    >
                        {texts.download(form.name)}
                    </Menu.Item>
                ))}
            </Menu.Dropdown>
        </Menu>
    );
}

function Failure({
    statement,
    isBlocked,
}: {
    statement: Statement;
    isBlocked: boolean;
}): ReactNode {
    const { error } = statement;
    return (
        error !== null && (
            <Alert
                color={isBlocked ? "orange" : "red"}
                role="alert"
                m="sm"
                data-outcome={isBlocked ? "blocked" : "failed"}
                title={isBlocked ? texts.blocked : texts.failed}
                icon={<Icon name={isBlocked ? "shield" : "warning"} />}
            >
                <Stack gap={6}>
                    <Text size="sm" fw={600} className="anywhere">
                        {error.message}
                    </Text>
                    {error.detail && (
                        <Text size="sm" className="anywhere">
                            {error.detail}
                        </Text>
                    )}
                    {(error.hint || isBlocked) && (
                        <Text size="sm" className="anywhere">
                            {error.hint || texts.blockedAbout}
                        </Text>
                    )}
                    <Text size="xs" className="code">
                        {error.code}
                    </Text>
                </Stack>
            </Alert>
        )
    );
}

/* One value, however long it is. */
function Whole({ column, value, close }: {
    column: Column;
    value: Value;
    close: () => void;
}): ReactNode {
    useFocusBack();
    return (
        <Modal opened onClose={close} title={column.name} size="lg">
            <CopyBlock
                label={texts.value}
                text={value === null ? "" : String(value)}
                shown={cellText(value)}
            />
        </Modal>
    );
}

function One({
    statement,
    number,
    run,
    isMasked,
}: {
    statement: Statement;
    number: number;
    run: Run;
    isMasked: boolean;
}): ReactNode {
    const [opened, open] = useState<{ column: Column; value: Value } | null>(null);
    const plan = useMemo(() => planOf(statement), [statement]);
    const isBlocked = run.state === "blocked" && statement.error !== null;
    const notices = statement.notices.map((notice) =>
        typeof notice === "string" ? notice : notice.message,
    );
    return (
        <div className="result">
            {notices.map((notice, index) => (
                <Text key={index} size="sm" px="sm" py={4} className="anywhere">
                    {notice}
                </Text>
            ))}
            <Failure statement={statement} isBlocked={isBlocked} />
            {statement.text !== "" && (
                <Code block m="sm" tabIndex={0} className="result-text">
                    {statement.text}
                </Code>
            )}
            {plan !== null && <Plan step={plan} />}
            {plan === null && statement.columns.length > 0 && (
                <div className="result-grid">
                    <Grid
                        label={texts.result(number)}
                        columns={statement.columns}
                        rows={statement.rows}
                        isMasked={isMasked}
                        open={(column, value) => open({ column, value })}
                    />
                </div>
            )}
            {statement.columns.length === 0 &&
                statement.error === null &&
                statement.text === "" && (
                    <Text p="sm" size="sm">
                        {statement.command || texts.noRows}
                    </Text>
                )}
            {opened !== null && (
                <Whole {...opened} close={() => open(null)} />
            )}
        </div>
    );
}

function tabTitle(statement: Statement, number: number): string {
    return statement.error !== null
        ? `${number} · error`
        : `${number} · ${statement.columns.length > 0 ? count(statement.rows.length, "row") : statement.command || "done"}`;
}

export function Results({ run, isMasked }: { run: Run; isMasked: boolean }): ReactNode {
    const [chosen, choose] = useState<string | null>(null);
    const { statements } = run;
    if (run.state === "waits") {
        return (
            <Alert
                color="orange"
                m="sm"
                title={texts.review}
                icon={<Icon name="clock" />}
                data-outcome="waits"
            >
                <Stack gap="xs">
                    {texts.reviewAbout}
                    <Anchor component={Link} href={`/reviews/${run.reviewId ?? ""}`}>
                        {texts.reviewLink}
                    </Anchor>
                </Stack>
            </Alert>
        );
    }
    const bad = statements.findIndex((statement) => statement.error !== null);
    const shown = chosen ?? String(bad >= 0 ? bad : Math.max(0, statements.length - 1));
    const statement = statements[Number(shown)];
    return (
        <div className="results">
            {statements.length > 1 && (
                <Tabs value={shown} onChange={choose} keepMounted={false}>
                    <Tabs.List aria-label="Results">
                        {statements.map((one, index) => (
                            <Tabs.Tab
                                key={index}
                                value={String(index)}
                                color={one.error === null ? undefined : "red"}
                            >
                                {tabTitle(one, index + 1)}
                            </Tabs.Tab>
                        ))}
                    </Tabs.List>
                </Tabs>
            )}
            {statement !== undefined && (
                <One
                    key={shown}
                    statement={statement}
                    number={Number(shown) + 1}
                    run={run}
                    isMasked={isMasked}
                />
            )}
            <Group className="result-foot" gap="sm" px="sm" py={4} role="status">
                {statement !== undefined && statement.columns.length > 0 && (
                    <Text size="xs" data-rows={statement.rows.length}>
                        {count(statement.rows.length, "row")}
                    </Text>
                )}
                {run.state !== "running" && (
                    <Text size="xs">{texts.took(duration(run.milliseconds))}</Text>
                )}
                {run.state === "cancelled" && (
                    <Text size="xs" fw={600}>
                        {texts.ended}
                    </Text>
                )}
                {run.isStopped && <Text size="xs">{texts.stopped(ROWS_MAX.toLocaleString())}</Text>}
                {(run.isTruncated || statement?.truncated === true) && (
                    <Text size="xs">{texts.truncated}</Text>
                )}
                {run.sessionId !== "" && (
                    <Anchor component={Link} size="xs" href={`/sessions/${run.sessionId}`}>
                        {texts.record}
                    </Anchor>
                )}
                {statement !== undefined && statement.columns.length > 0 && (
                    <Group ml="auto">
                        <Take table={statement} />
                    </Group>
                )}
            </Group>
        </div>
    );
}
