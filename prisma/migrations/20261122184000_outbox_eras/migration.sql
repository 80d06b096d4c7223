-- Where events lie in the outbox: a transaction id of the present era, shifted so that it is above those of all eras
-- before. An era ends where the history of transaction ids breaks off: in another cluster, or on another timeline.
-- `store/postgres/outbox-era.ts` replaces this function then. It is inlined wherever it is called.
CREATE FUNCTION "outbox_position"(xid8) RETURNS xid8 LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT $1 $$;

-- A snapshot among such positions.
CREATE FUNCTION "outbox_snapshot"() RETURNS pg_snapshot LANGUAGE plpgsql STABLE AS $$
DECLARE
  s pg_snapshot := pg_current_snapshot();
BEGIN
  RETURN format('%s:%s:%s', outbox_position(pg_snapshot_xmin(s)), outbox_position(pg_snapshot_xmax(s)),
    (SELECT string_agg(outbox_position(x)::text, ',' ORDER BY x) FROM pg_snapshot_xip(s) AS x));
END $$;

-- AlterTable
ALTER TABLE "session_events" ALTER COLUMN "xid" SET DEFAULT outbox_position(pg_current_xact_id());

-- AlterTable
ALTER TABLE "webhooks" ALTER COLUMN "active_since" SET DEFAULT outbox_snapshot();
