-- Requests that others must approve, and what was decided. A review holds names, not references: it
-- can be read when what they named is gone. 'sealed' is the hash of all that is approved (script,
-- environment, connection, values of the target) and behind it the script. 'need' is what the rules
-- asked for when it was made.
CREATE TABLE review (
    id @text PRIMARY KEY,
    organization_id @text NOT NULL REFERENCES organization (id),
    session_id @text NOT NULL UNIQUE,
    kind @text NOT NULL,
    state @text NOT NULL,
    connection_id @text NOT NULL,
    connection_name @text NOT NULL,
    connection_subtype @text NOT NULL,
    member_id @text NOT NULL,
    member_email @text NOT NULL,
    member_name @text NOT NULL,
    need @text NOT NULL,
    sealed @blob NOT NULL,
    script_size @int NOT NULL,
    metadata @text NOT NULL,
    duration_sec @int NOT NULL,
    runs_at_once @int NOT NULL,
    reason @text NOT NULL,
    is_forced @int NOT NULL,
    created_at @int NOT NULL,
    updated_at @int NOT NULL,
    pending_until @int NOT NULL,
    granted_until @int NOT NULL,
    run_id @text NOT NULL,
    run_by @text NOT NULL,
    claimed_at @int NOT NULL,
    begun_at @int NOT NULL,
    run_count @int NOT NULL,
    client_ip @text NOT NULL
) @strict;

CREATE INDEX review_by_time ON review (organization_id, created_at, id);
CREATE INDEX review_by_member ON review (member_id, connection_id, created_at);
CREATE INDEX review_by_connection ON review (connection_id, state);
CREATE INDEX review_by_run ON review (run_id);

-- The groups with a say in it, for lists: each once.
CREATE TABLE review_group (
    review_id @text NOT NULL REFERENCES review (id) ON DELETE CASCADE,
    group_name @text NOT NULL,
    PRIMARY KEY (review_id, group_name)
) @strict;

CREATE INDEX review_group_name ON review_group (group_name);

-- One decision a person.
CREATE TABLE review_ballot (
    review_id @text NOT NULL REFERENCES review (id) ON DELETE CASCADE,
    member_id @text NOT NULL,
    member_email @text NOT NULL,
    member_name @text NOT NULL,
    approves @int NOT NULL,
    is_forced @int NOT NULL,
    reason @text NOT NULL,
    created_at @int NOT NULL,
    PRIMARY KEY (review_id, member_id)
) @strict;

CREATE TABLE review_comment (
    id @text PRIMARY KEY,
    review_id @text NOT NULL REFERENCES review (id) ON DELETE CASCADE,
    member_id @text NOT NULL,
    member_email @text NOT NULL,
    member_name @text NOT NULL,
    body @text NOT NULL,
    created_at @int NOT NULL
) @strict;

CREATE INDEX review_comment_review ON review_comment (review_id, created_at, id);

-- The review by whose leave it opens its connection.
ALTER TABLE credential ADD COLUMN review_id @text NOT NULL DEFAULT '';

CREATE INDEX credential_review ON credential (review_id);

-- The groups that a rule of access requests names: they cannot be deleted while it does.
CREATE TABLE rule_group (
    rule_id @text NOT NULL REFERENCES rule (id) ON DELETE CASCADE,
    organization_id @text NOT NULL,
    group_name @text NOT NULL,
    PRIMARY KEY (rule_id, group_name),
    FOREIGN KEY (organization_id, group_name) REFERENCES user_group (organization_id, name)
) @strict;

CREATE INDEX rule_group_name ON rule_group (organization_id, group_name);
