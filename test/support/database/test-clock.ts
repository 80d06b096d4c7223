/**
 * Run once in the template, after the seeds are kept: makes `seeds.set_clock`, which lets the database's clock go ahead
 * of the real one, for all connections at once. As long as nobody moves it, the functions are those of production.
 *
 * The functions are replaced, so they are inlined as in production. One that reads the time from a table would be called
 * for each row that a filter compares with it: 20,000 rows took 0.7 s instead of 8 ms.
 */
export const KEEP_CLOCK = `
CREATE TABLE seeds.clock (ahead interval NOT NULL, real text[] NOT NULL);
INSERT INTO seeds.clock
SELECT '0', ARRAY[pg_get_functiondef('public.reprise_now'::regproc), pg_get_functiondef('public.reprise_clock'::regproc)];

CREATE FUNCTION seeds.set_clock(total interval) RETURNS void LANGUAGE plpgsql AS $do$
DECLARE
  definition text;
BEGIN
  UPDATE seeds.clock SET ahead = total;
  FOREACH definition IN ARRAY (SELECT real FROM seeds.clock) LOOP
    EXECUTE CASE WHEN total = '0' THEN definition
      ELSE regexp_replace(definition, 'SELECT (\\w+\\(\\))', format('SELECT \\1 + interval %L', total)) END;
  END LOOP;
END $do$;

CREATE FUNCTION seeds.move_clock(by interval) RETURNS void LANGUAGE plpgsql AS $do$
DECLARE
  before interval;
BEGIN
  SELECT ahead INTO before FROM seeds.clock FOR UPDATE;
  PERFORM seeds.set_clock(before + by);
END $do$;

CREATE FUNCTION seeds.restore_clock() RETURNS void LANGUAGE plpgsql AS $do$
BEGIN
  IF (SELECT ahead <> '0' FROM seeds.clock) THEN PERFORM seeds.set_clock('0'); END IF;
END $do$`
