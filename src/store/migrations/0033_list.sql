-- What the lists of sessions, of connections and of the audit log are found by, however long they
-- are: each filter that stands alone has an index in the order of its list.

CREATE INDEX session_by_email ON session (organization_id, user_email, started_at, id);
CREATE INDEX session_by_connection ON session (organization_id, connection_name, started_at, id);
CREATE INDEX session_by_member ON session (organization_id, user_id, connection_name, started_at, id);
CREATE INDEX session_by_type ON session (organization_id, connection_type, started_at, id);
CREATE INDEX session_by_subtype ON session (organization_id, connection_subtype, started_at, id);
CREATE INDEX session_that_is_open ON session (organization_id, started_at, id) WHERE status = 'open';
CREATE INDEX session_with_hits ON session (organization_id, started_at, id) WHERE guardrails_count > 0;

DROP INDEX audit_entry_time;
CREATE INDEX audit_entry_by_time ON audit_entry (organization_id, created_at, number);
CREATE INDEX audit_entry_by_subject ON audit_entry (organization_id, actor_subject, number);
CREATE INDEX audit_entry_by_email ON audit_entry (organization_id, actor_email, number);
CREATE INDEX audit_entry_by_type ON audit_entry (organization_id, resource_type, number);
CREATE INDEX audit_entry_by_action ON audit_entry (organization_id, action, number);
CREATE INDEX audit_entry_that_failed ON audit_entry (organization_id, number) WHERE outcome = 0;

-- Three letters in a row that stand in the name, type, subtype or resource of a connection, for
-- each of them; by name, so that what is found is in the order of the list. What is left of one that
-- is gone does no harm: who looks here looks at the connection, too.
CREATE TABLE connection_gram (
    organization_id @text NOT NULL,
    gram @text NOT NULL,
    name @text NOT NULL,
    PRIMARY KEY (organization_id, gram, name)
) @strict;

WITH RECURSIVE place (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < 1100)
INSERT INTO connection_gram (organization_id, gram, name)
SELECT DISTINCT t.organization_id, substr(t.words, CAST(p.n AS INTEGER), 3), t.name
FROM (SELECT c.organization_id, c.name,
      lower(c.name || ' ' || c.type || ' ' || c.subtype || ' ' || r.name) AS words
      FROM connection c JOIN resource r ON r.id = c.resource_id) t
JOIN place p ON p.n <= length(t.words) - 2;

CREATE INDEX connection_by_type ON connection (organization_id, type, name);
CREATE INDEX connection_by_subtype ON connection (organization_id, subtype, name);
