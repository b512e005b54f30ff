/* SPDX-License-Identifier: MIT */
/* What acts on a connection, in words for the person who is about to use it. */
import type { Connection, Controls } from "../../shared/api/types";
import type { Tone } from "../../shared/parts";
import { left } from "../../shared/words";
import { texts } from "./texts";

export interface Effect {
    word: string;
    about: string;
    tone: Tone;
}

export function effectsOf(connection: Connection, controls?: Controls): Effect[] {
    const words = texts.effects;
    const features = connection.effective_features;
    const effects: Effect[] = [];
    const add = (
        is: boolean | undefined,
        word: string,
        about: string,
        tone: Tone = "info",
    ): void => {
        if (is === true) {
            effects.push({ word, about, tone });
        }
    };
    add(
        features?.access_request.jit || features?.access_request.legacy_reviewers,
        words.jit,
        words.jitAbout,
        "warn",
    );
    add(features?.access_request.command, words.command, words.commandAbout, "warn");
    const isBarrier =
        controls === undefined ||
        controls.guardrails.structural === "enforced" ||
        controls.guardrails.text === "enforced";
    add(
        features?.guardrails,
        words.guardrails,
        isBarrier ? words.guardrailsAbout : words.guardrailsObserved,
    );
    add(features?.data_masking, words.masking, words.maskingAbout);
    add(
        connection.mandatory_metadata_fields.length > 0,
        words.metadata(connection.mandatory_metadata_fields),
        words.metadataAbout,
        "warn",
    );
    add(
        connection.access_max_duration > 0,
        words.duration(left(connection.access_max_duration)),
        words.durationAbout,
        "calm",
    );
    add(controls?.recording === "enforced", words.recorded, words.recordedAbout, "calm");
    return effects;
}
