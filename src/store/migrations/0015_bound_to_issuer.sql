-- What stands on the word of an identity provider is bound to that provider: service accounts, and
-- sign-ins under way, which carry what a program sent along, and from where it did.

-- NULL: made before issuers were kept; the first gateway that starts with this binds those to the
-- issuer that it has then, and to none ('') when it has none.
ALTER TABLE service_account ADD COLUMN issuer @text;

-- The organization in which a token acts that names none: the first that had an account for its
-- subject, for good. Others reach theirs by name.
CREATE TABLE service_account_owner (
    issuer @text NOT NULL,
    subject @text NOT NULL,
    organization_id @text NOT NULL REFERENCES organization (id),
    PRIMARY KEY (issuer, subject)
) @strict;

DELETE FROM login_attempt;
ALTER TABLE login_attempt ADD COLUMN issuer @text NOT NULL DEFAULT '';
ALTER TABLE login_attempt ADD COLUMN program_state @text NOT NULL DEFAULT '';
ALTER TABLE login_attempt ADD COLUMN program_name @text NOT NULL DEFAULT '';
ALTER TABLE login_attempt ADD COLUMN asked_from @text NOT NULL DEFAULT '';
