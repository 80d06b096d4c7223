-- AlterTable
ALTER TABLE "agents" ADD COLUMN     "volumes" JSONB;

-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "mounts" JSONB NOT NULL DEFAULT '[]';

-- What Prisma's schema language cannot say.

ALTER TABLE "agents" ADD CONSTRAINT "agents_volumes" CHECK (jsonb_typeof("volumes") = 'array');
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_mounts" CHECK (jsonb_typeof("mounts") = 'array');
