/* SPDX-License-Identifier: MIT */
/* A plan as a tree; the bar of each step is its share of what the whole is estimated to cost. */
import { Progress, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Step } from "./steps";
import { texts } from "./texts";

function StepLine({ step }: { step: Step }): ReactNode {
    return (
        <li>
            <div className="plan-step">
                <Text fw={600} size="sm" className="anywhere">
                    {step.title}
                </Text>
                {step.about.map((line) => (
                    <Text key={line} size="xs" className="code anywhere">
                        {line}
                    </Text>
                ))}
                <Text size="xs" c="dimmed">
                    {texts.planStep(step.rows.toLocaleString(), Math.round(step.share * 100))}
                </Text>
                <Progress
                    value={step.share * 100}
                    size={6}
                    mt={4}
                    maw={260}
                    aria-label={texts.planShare(step.title)}
                    {...(step.share > 0.5 && { color: "orange" })}
                />
            </div>
            {step.steps.length > 0 && (
                <ul>
                    {step.steps.map((one, index) => (
                        <StepLine key={index} step={one} />
                    ))}
                </ul>
            )}
        </li>
    );
}

export function Plan({ step }: { step: Step }): ReactNode {
    return (
        <div className="plan" id="plan" tabIndex={0} role="region" aria-label={texts.plan}>
            <Text size="sm" c="dimmed" mb="xs">
                {texts.planAbout}
            </Text>
            <ul>
                <StepLine step={step} />
            </ul>
        </div>
    );
}
