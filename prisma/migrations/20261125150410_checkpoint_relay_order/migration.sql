-- A program may publish its checkpoint while it runs: of several copies of one attempt the one that was asked for last
-- counts, whichever arrives last.
CREATE SEQUENCE "checkpoint_relay_orders";

ALTER TABLE "checkpoints" ADD COLUMN "relay_order" BIGINT;
