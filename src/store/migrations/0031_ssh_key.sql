-- Public keys by which people sign in over SSH. One key is one person's in the whole gateway.
CREATE TABLE ssh_key (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    user_id @text NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
    name @text NOT NULL,
    type @text NOT NULL,
    bits @int NOT NULL,
    comment @text NOT NULL,
    public_key @text NOT NULL,
    fingerprint @text NOT NULL UNIQUE,
    created_at @int NOT NULL,
    last_used_at @int NOT NULL
) @strict;

CREATE INDEX ssh_key_of_user ON ssh_key (user_id);

-- The key that let it in: like that of a terminal, it opens one session and goes with it.
ALTER TABLE credential ADD COLUMN ssh_key_id @text NOT NULL DEFAULT '';
CREATE INDEX credential_of_ssh_key ON credential (ssh_key_id);

-- The fingerprint of the key that its client signed in with.
ALTER TABLE session ADD COLUMN ssh_key @text NOT NULL DEFAULT '';
