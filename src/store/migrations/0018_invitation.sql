-- What an invited person chooses a password with: one for each, its hash alone, good once and until
-- it expires, while the person is invited.
CREATE TABLE invitation (
    user_id @text PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
    hash @blob NOT NULL UNIQUE,
    created_at @int NOT NULL,
    expires_at @int NOT NULL
) @strict;
