-- Who is behind an API key, also when a key made it: nobody approves what a key of his own asks for.
-- An address is not enough, since it can change and a key can bear it as its name.
ALTER TABLE api_key ADD COLUMN owner_id @text NOT NULL DEFAULT '';

UPDATE api_key SET owner_id = coalesce((SELECT max(u.id) FROM user_account u
    WHERE u.organization_id = api_key.organization_id
    AND lower(u.email) = lower(api_key.created_by)), '');
