-- SPDX-License-Identifier: MIT
-- Keys of others that sign certificates of people for SSH, which an organization trusts. Several may
-- trust the same. A credential's ssh_key_id is that of such a key where one let it in.
CREATE TABLE ssh_authority (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    name @text NOT NULL,
    public_key @text NOT NULL,
    fingerprint @text NOT NULL,
    created_at @int NOT NULL,
    UNIQUE (organization_id, fingerprint)
) @strict;

CREATE INDEX ssh_authority_by_fingerprint ON ssh_authority (fingerprint);
