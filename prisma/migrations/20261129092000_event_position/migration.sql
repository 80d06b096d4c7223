-- Position of the session's newest event. Null, as of sessions from before, is below all others.
ALTER TABLE "sessions" ADD COLUMN "event_position" xid8;
