-- AlterTable
ALTER TABLE "resubmissions" ADD COLUMN "dependents_from" INTEGER;
