-- AlterTable
ALTER TABLE "deployment_revisions" ADD COLUMN     "mounts" JSONB NOT NULL DEFAULT '[]';

-- What Prisma's schema language cannot say.

ALTER TABLE "deployment_revisions" ADD CONSTRAINT "deployment_revisions_mounts" CHECK (jsonb_typeof("mounts") = 'array');
