/**
 * Run once in the template: keeps the rows that the migrations made, and makes the function that restores the state
 * after them. Its plans are cached by each connection: some fifty statements take 2 ms instead of 10.
 *
 * With few rows, DELETE is many times faster than TRUNCATE, which makes new files for each table and index.
 */
export const KEEP_SEEDS = `
CREATE SCHEMA seeds;
DO $do$
DECLARE
  name text;
  seeded boolean;
  deletes text := '';
  inserts text := '';
BEGIN
  FOR name IN SELECT format('%I', tablename) FROM pg_tables
      WHERE schemaname = 'public' AND tablename <> '_prisma_migrations' ORDER BY tablename LOOP
    deletes := deletes || format('DELETE FROM public.%s; ', name);
    EXECUTE format('SELECT EXISTS (SELECT FROM public.%s)', name) INTO seeded;
    CONTINUE WHEN NOT seeded;
    EXECUTE format('CREATE TABLE seeds.%s AS TABLE public.%s', name, name);
    inserts := inserts || format('INSERT INTO public.%s SELECT * FROM seeds.%s; ', name, name);
  END LOOP;
  EXECUTE format('CREATE FUNCTION seeds.restore() RETURNS void LANGUAGE plpgsql AS %L',
    'BEGIN ' || deletes || inserts || 'END');
END $do$`

/** All other rows are deleted, and the clock is right again. No transaction may be open. */
export const RESTORE_SEEDS = 'SELECT seeds.restore(), seeds.restore_clock()'
