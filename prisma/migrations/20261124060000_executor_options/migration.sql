-- AlterTable
ALTER TABLE "resource_groups" ADD COLUMN     "allowed_executor_options" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "executor_options" JSONB NOT NULL DEFAULT '{}';

-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "executor_options" JSONB NOT NULL DEFAULT '{}';

-- What Prisma's schema language cannot say.

ALTER TABLE "resource_groups" ADD CONSTRAINT "resource_groups_executor_options"
  CHECK (jsonb_typeof("executor_options") = 'object' AND "allowed_executor_options" IS NOT NULL
    AND array_position("allowed_executor_options", NULL) IS NULL);
