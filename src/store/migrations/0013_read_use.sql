-- What was read of a connection by one caller, for budgets of an hour: written every second while
-- somebody reads, read when a gateway starts to count, gone after a little more than an hour.
-- 'minute' counts from 1970. Refers to nothing, for it may be written when that is gone.

CREATE TABLE read_use (
    connection_id @text NOT NULL,
    caller_id @text NOT NULL,
    minute @int NOT NULL,
    row_count @int NOT NULL,
    byte_count @int NOT NULL,
    PRIMARY KEY (connection_id, caller_id, minute)
) @strict;

CREATE INDEX read_use_minute ON read_use (minute);
