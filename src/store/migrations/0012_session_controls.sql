-- What guard rails and masking did in a session. 'metrics' is the JSON that answers show, empty as
-- long as nothing was counted; guardrails_info holds JSON objects with commas between them, which
-- more are appended to; guardrails_count goes on when they are too many to be kept.

ALTER TABLE session ADD COLUMN metrics @text NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN guardrails_info @text NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN guardrails_count @int NOT NULL DEFAULT 0;

-- The same by type, for reports.
CREATE TABLE session_masking (
    session_id @text NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    info_type @text NOT NULL,
    redact_count @int NOT NULL,
    transformed_bytes @int NOT NULL,
    PRIMARY KEY (session_id, info_type)
) @strict;
