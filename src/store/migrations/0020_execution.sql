-- What opens the session of a script that is executed over the API: good for that one session,
-- known to nobody, and gone with it.
ALTER TABLE credential ADD COLUMN is_execution @int NOT NULL DEFAULT 0;
