--
-- Failed says that nothing has happened: the next caller runs it, and which
-- attempt that is.
--
SELECT facts(begin_key('job 1', 'h1'));
SELECT facts(finish_key('job 1', 'h1', 1, '{"why": "503"}', 'failed'));
SELECT facts(check_key('job 1'));
SELECT facts(begin_key('job 1', 'h2'));
SELECT facts(finish_key('job 1', 'h2', 2, NULL, 'failed')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('job 1', 'h1'));
SELECT facts(finish_key('job 1', 'h1', 1, '{"charge": "ch_1"}'));
SELECT facts(finish_key('job 1', 'h1', 3, '{"charge": "ch_3"}'));
SELECT facts(begin_key('job 1', 'h2'));

-- It turns out to have happened, before anybody else was let in: done.
SELECT facts(begin_key('job 2', 'h1'));
SELECT facts(finish_key('job 2', 'h1', 1, '{"why": "timeout"}', 'failed'));
SELECT facts(finish_key('job 2', 'h1', 1, '{"why": "timeout"}', 'failed'));
SELECT facts(finish_key('job 2', 'h1', 1, '{"charge": "ch_2"}'));
SELECT facts(begin_key('job 2', 'h2'));
