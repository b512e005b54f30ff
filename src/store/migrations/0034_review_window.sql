-- SPDX-License-Identifier: MIT
-- The hours of the day in which an approval may be used: a line for each who named some.

ALTER TABLE review ADD COLUMN time_windows TEXT NOT NULL DEFAULT '';
