-- Where the request that began the chain stands in its trace, as W3C's Trace Context has it; null where it is in none.
ALTER TABLE "sessions" ADD COLUMN "trace_parent" TEXT;
