-- Rules by which a project groups its failures: an array of {pattern, name}, in their order.
ALTER TABLE "projects" ADD COLUMN "failure_rules" JSONB NOT NULL DEFAULT '[]';

-- The pattern of the rule by which the first failure of a group was grouped.
ALTER TABLE "failure_groups" ADD COLUMN "rule" TEXT;
