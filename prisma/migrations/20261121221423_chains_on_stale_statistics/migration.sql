-- Statistics taken while a table was empty say "no rows", however many it has by now: then a plan may read the whole
-- table for each row of a batch. These functions only look rows up. A bitmap scan needs a condition on its index;
-- with this, every other scan of a table is out of reach.
ALTER FUNCTION chains_gain_attempts() SET enable_indexscan = off;
ALTER FUNCTION chains_gain_attempts() SET enable_indexonlyscan = off;
ALTER FUNCTION chains_follow_decisions() SET enable_indexscan = off;
ALTER FUNCTION chains_follow_decisions() SET enable_indexonlyscan = off;
ALTER FUNCTION refresh_chains(uuid[]) SET enable_indexscan = off;
ALTER FUNCTION refresh_chains(uuid[]) SET enable_indexonlyscan = off;
