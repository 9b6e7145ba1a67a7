-- Moves the instants of frozen rows, so that a lease that was running is running now.
CREATE TEMPORARY TABLE age AS
SELECT clock_timestamp() - greatest((SELECT max(claimed_at) FROM claims.slot_claims), (SELECT max(started_at) FROM claims.keys)) AS age;
UPDATE claims.slot_claims SET claimed_at = claimed_at + age, expires_at = expires_at + age, ended_at = ended_at + age FROM age;
UPDATE claims.keys
SET started_at = started_at + age, lease_expires_at = lease_expires_at + age, finished_at = finished_at + age FROM age;
