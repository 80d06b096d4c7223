-- Who made a switch what it is, when and why: by the name of the token, as the audit log has it for a while only.
ALTER TABLE "retry_switches"
  ADD COLUMN "disabled_at" TIMESTAMPTZ(3),
  ADD COLUMN "disabled_by" TEXT,
  ADD COLUMN "disabled_reason" TEXT,
  ADD COLUMN "limit_at" TIMESTAMPTZ(3),
  ADD COLUMN "limit_by" TEXT,
  ADD COLUMN "limit_reason" TEXT;
