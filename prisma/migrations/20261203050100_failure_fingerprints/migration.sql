-- Fingerprints by newer masks of failures that already had a group by the masks before.
CREATE TABLE "failure_fingerprints" (
  "project_id" UUID NOT NULL,
  "fingerprint" TEXT NOT NULL,
  "group_id" UUID NOT NULL,
  -- Of the newer masks.
  "version" INTEGER NOT NULL,
  "since" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
  CONSTRAINT "failure_fingerprints_pkey" PRIMARY KEY ("project_id", "fingerprint", "group_id"),
  CONSTRAINT "failure_fingerprints_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "failure_groups"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "failure_fingerprints_group_id_idx" ON "failure_fingerprints"("group_id");
