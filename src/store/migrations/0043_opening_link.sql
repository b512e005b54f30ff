-- SPDX-License-Identifier: MIT
-- Links in messages that were opened: each opens its review once.

CREATE TABLE opening_link (
    delivery_id @text PRIMARY KEY,
    review_id @text NOT NULL REFERENCES review (id) ON DELETE CASCADE,
    member_email @text NOT NULL,
    opened_at @int NOT NULL
) @strict;

CREATE INDEX opening_link_review ON opening_link (review_id);
