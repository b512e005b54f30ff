-- An address that no provider has verified is shown, and found, but belongs to nobody: it stands in
-- claimed_email_key, and what stands in email_key is no address. What is not known of those who came
-- through a provider before is not taken for verified; their next sign-in tells. Who has a password
-- was given the address by an admin.
ALTER TABLE user_account ADD COLUMN claimed_email_key @text NOT NULL DEFAULT '';
UPDATE user_account SET claimed_email_key = email_key, email_key = 'unverified ' || id
WHERE issuer <> '' AND password_hash IS NULL;
CREATE INDEX user_account_claimed_email ON user_account (organization_id, claimed_email_key);

-- Where the identity provider may say who is an admin or an auditor: it is the first organization's,
-- whose admins set it.
ALTER TABLE organization ADD COLUMN trusts_provider_roles @int NOT NULL DEFAULT 0;
UPDATE organization SET trusts_provider_roles = 1
WHERE id = '01900000-0000-7000-8000-000000000001';

ALTER TABLE auth_config ADD COLUMN trusts_email @int NOT NULL DEFAULT 0;
