-- SPDX-License-Identifier: MIT
-- Of a delivery by e-mail: the addresses that have it, and those that the mail server refused for
-- good, each in a line, the latter with what it said. Only the others are tried again.

ALTER TABLE notification_delivery ADD COLUMN told TEXT NOT NULL DEFAULT '';
ALTER TABLE notification_delivery ADD COLUMN refused TEXT NOT NULL DEFAULT '';
