-- Sign-ins of programs that have no browser (RFC 8628): the hash of what the program holds, and the
-- short code that a person compares and confirms. Good once, for ten minutes.
CREATE TABLE device_login (
    id @text PRIMARY KEY,
    user_code @text NOT NULL UNIQUE,
    status @text NOT NULL,
    program_name @text NOT NULL,
    asked_from @text NOT NULL,
    user_id @text NOT NULL,
    organization_id @text NOT NULL,
    interval_s @int NOT NULL,
    asked_at @int NOT NULL,
    created_at @int NOT NULL,
    expires_at @int NOT NULL
) @strict;

CREATE INDEX device_login_expiry ON device_login (expires_at);
