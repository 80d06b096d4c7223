-- Once the start of such a session was ordered, nothing starts it again: no retry, and no other agent.
ALTER TABLE "sessions" ADD COLUMN "never_run_twice" BOOLEAN NOT NULL DEFAULT false;
