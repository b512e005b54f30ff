-- Of what opens the session of a terminal: like that of a script (is_execution), it is good for that
-- one session and gone with it; but it comes in where native clients do.
ALTER TABLE credential ADD COLUMN is_terminal @int NOT NULL DEFAULT 0;
