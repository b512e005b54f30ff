-- Masking rules are rows of 'rule' of the kind 'masking'. What ties a rule to a connection has an id
-- of its own, where the interface shows one, and can be put out of force without being taken away.
-- The keys of values that are hashed: one of each organization, sealed, so that the same value has
-- the same hash on all its connections and on none of another's.

ALTER TABLE connection_rule ADD COLUMN id @text NOT NULL DEFAULT '';
ALTER TABLE connection_rule ADD COLUMN is_active @int NOT NULL DEFAULT 1;

CREATE TABLE masking_key (
    organization_id @text PRIMARY KEY REFERENCES organization (id),
    key @blob NOT NULL,
    created_at @int NOT NULL
) @strict;
