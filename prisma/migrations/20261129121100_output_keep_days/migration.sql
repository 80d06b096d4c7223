-- AlterTable
ALTER TABLE "projects" ADD COLUMN "output_keep_days" DOUBLE PRECISION;

-- What Prisma's schema language cannot say.

ALTER TABLE "projects" ADD CONSTRAINT "projects_output_keep_days" CHECK ("output_keep_days" > 0);
