-- SPDX-License-Identifier: MIT
-- What programs say of a script when they have it executed: labels, and what they know it by.

ALTER TABLE session ADD COLUMN labels @text NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN batch_id @text NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN correlation_id @text NOT NULL DEFAULT '';
CREATE INDEX session_of_batch ON session (organization_id, batch_id, started_at, id)
    WHERE batch_id <> '';
CREATE INDEX session_of_correlation ON session (organization_id, correlation_id, started_at, id)
    WHERE correlation_id <> '';

-- The same of a script that waits for people, until its session is there.
CREATE TABLE review_ask (
    review_id @text PRIMARY KEY REFERENCES review (id) ON DELETE CASCADE,
    labels @text NOT NULL,
    batch_id @text NOT NULL,
    correlation_id @text NOT NULL
) @strict;
