-- The gateways that use this store, as they say of themselves: a row is true until 'alive_until',
-- which its gateway writes again every few seconds. A gateway has a new id with each start.

CREATE TABLE node (
    id @text NOT NULL PRIMARY KEY,
    url @text NOT NULL,
    alive_until @int NOT NULL
) @strict;

-- What was read is kept by gateway: what this one has written it knows itself, by a clock that
-- nobody sets; what the others have it reads here. Empty: of a store that one gateway has.
CREATE TABLE read_use_by_node (
    connection_id @text NOT NULL,
    caller_id @text NOT NULL,
    minute @int NOT NULL,
    node_id @text NOT NULL DEFAULT '',
    row_count @int NOT NULL,
    byte_count @int NOT NULL,
    PRIMARY KEY (connection_id, caller_id, minute, node_id)
) @strict;

INSERT INTO read_use_by_node (connection_id, caller_id, minute, node_id, row_count, byte_count)
    SELECT connection_id, caller_id, minute, '', row_count, byte_count FROM read_use;
DROP TABLE read_use;
ALTER TABLE read_use_by_node RENAME TO read_use;
CREATE INDEX read_use_minute ON read_use (minute);
