-- Groups that wait for other groups.
CREATE TYPE "group_condition" AS ENUM ('ALL_SUCCEEDED', 'ENDED', 'SAME_INDEX');

CREATE TABLE "group_dependencies" (
  "group_id" UUID NOT NULL,
  "depends_on" UUID NOT NULL,
  "condition" "group_condition" NOT NULL,
  -- Null until that is certain, which it is when the other group ends. With SAME_INDEX the members depend on members.
  "met" BOOLEAN,
  "met_at" TIMESTAMPTZ(3),
  CONSTRAINT "group_dependencies_pkey" PRIMARY KEY ("group_id", "depends_on"),
  CONSTRAINT "group_dependencies_other" CHECK ("group_id" <> "depends_on"),
  CONSTRAINT "group_dependencies_met" CHECK (("met" IS NULL) = ("met_at" IS NULL)),
  CONSTRAINT "group_dependencies_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "session_groups"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "group_dependencies_depends_on_fkey" FOREIGN KEY ("depends_on") REFERENCES "session_groups"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "group_dependencies_depends_on_idx" ON "group_dependencies"("depends_on");

-- Set in the transaction in which the last dependency is met, until the paused members were made due.
ALTER TABLE "session_groups" ADD COLUMN "release_due" BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX "session_groups_release_due" ON "session_groups"("id") WHERE "release_due";
