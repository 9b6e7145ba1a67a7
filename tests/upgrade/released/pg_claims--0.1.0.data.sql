-- What 0.1.0 wrote when it was called: a claim and a key in every state. The tests move its
-- instants to now.
COPY claims.keys (key, status, holder, token, attempt, verifying, fingerprint, started_at, lease_expires_at, finished_at, finished_by, reason, call_id, result) FROM stdin;
pending	pending	run-1	1	1	f	\\x6c2908995e7b901f87a59884d9ee14af	2026-11-30 16:55:28.627295+00	2026-12-01 16:55:28.627295+00	\N	\N	\N	\N	\N
overdue	pending	run-2	1	1	f	\N	2026-11-30 16:55:28.628698+00	2026-11-30 16:55:28.629698+00	\N	\N	\N	\N	\N
done	done	run-3	1	1	f	\\xa13115d118ee711c2d96a058cb939ba9	2026-11-30 16:55:28.632333+00	2026-11-30 17:00:28.632333+00	2026-11-30 16:55:28.635475+00	run-3	\N	\N	{"charge": "ch-3"}
failed	failed	run-4	1	1	f	\N	2026-11-30 16:55:28.63956+00	2026-11-30 17:00:28.63956+00	2026-11-30 16:55:28.642855+00	run-4	\N	\N	null
rejected	rejected	run-5	1	1	f	\N	2026-11-30 16:55:28.644339+00	2026-11-30 17:00:28.644339+00	2026-11-30 16:55:28.645623+00	run-5	\N	\N	"no funds"
reset	failed	\N	2	1	f	\N	2026-11-30 16:55:28.646108+00	2026-11-30 17:00:28.646108+00	2026-11-30 16:55:28.650373+00	desk	lost	\N	\N
\.

COPY claims.slot_claims (slot_id, token, holder, status, period, units, claimed_at, expires_at, on_expiry, ended_at, ended_by, reason, origin, call_id, note, result) FROM stdin;
active	1	run-1	claimed	\N	\N	2026-11-30 16:55:28.538111+00	2026-12-01 16:55:28.538111+00	release	\N	\N	\N	\N	run-1:0:0	{"who": "Ada"}	\N
expired	1	run-2	claimed	\N	\N	2026-11-30 16:55:28.547882+00	2026-11-30 16:55:28.548882+00	release	\N	\N	\N	\N	\N	\N	\N
review	1	run-3	claimed	\N	\N	2026-11-30 16:55:28.564937+00	2026-11-30 16:55:28.565937+00	review	\N	\N	\N	\N	\N	\N	\N
in doubt	1	run-4	review	\N	\N	2026-11-30 16:55:28.569305+00	2026-11-30 16:55:28.572793+00	release	\N	\N	timeout	\N	\N	\N	\N
booked	1	run-5	booked	\N	\N	2026-11-30 16:55:28.577739+00	\N	release	\N	\N	\N	\N	\N	\N	{"event": "ev-5"}
taken over	1	run-6	expired	\N	\N	2026-11-30 16:55:28.583426+00	\N	release	2026-11-30 16:55:28.598528+00	run-7	\N	\N	\N	\N	\N
taken over	2	run-7	claimed	\N	\N	2026-11-30 16:55:28.598528+00	2026-12-01 16:55:28.598528+00	release	\N	\N	\N	\N	\N	\N	\N
resold	1	run-8	cancelled	\N	\N	2026-11-30 16:55:28.602616+00	\N	release	2026-11-30 16:55:28.607555+00	desk	ill	\N	\N	\N	\N
resold	2	run-9	released	\N	\N	2026-11-30 16:55:28.609792+00	\N	release	2026-11-30 16:55:28.612274+00	run-9	\N	\N	\N	\N	\N
resold	3	run-10	booked	\N	\N	2026-11-30 16:55:28.613044+00	\N	release	\N	\N	\N	\N	\N	\N	\N
late	1	run-11	released	\N	\N	2026-11-30 16:55:28.617905+00	\N	release	2026-11-30 16:55:28.618956+00	run-11	\N	\N	\N	\N	\N
late	2	run-11	booked	\N	\N	2026-11-30 16:55:28.622669+00	\N	release	\N	\N	\N	1	\N	\N	\N
\.

