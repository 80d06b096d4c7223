-- CreateTable
CREATE TABLE "code_archives" (
    "project_id" UUID NOT NULL,
    "sha256" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "files" INTEGER NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "code_archives_pkey" PRIMARY KEY ("project_id", "sha256")
);

-- CreateIndex
CREATE INDEX "code_archives_last_used_at_idx" ON "code_archives"("last_used_at");

-- AddForeignKey
ALTER TABLE "code_archives" ADD CONSTRAINT "code_archives_project_id_fkey"
  FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "code_sha256" TEXT;

-- AddForeignKey: all values are null, so there is nothing to validate.
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_project_id_code_sha256_fkey"
  FOREIGN KEY ("project_id", "code_sha256") REFERENCES "code_archives"("project_id", "sha256")
  ON DELETE RESTRICT ON UPDATE CASCADE NOT VALID;

-- What Prisma's schema language cannot say.

ALTER TABLE "code_archives" ADD CONSTRAINT "code_archives_sha256" CHECK ("sha256" ~ '^[0-9a-f]{64}$');
ALTER TABLE "code_archives" ADD CONSTRAINT "code_archives_size" CHECK ("bytes" > 0 AND "files" >= 0);

-- For the foreign key, when an archive is removed.
CREATE INDEX "sessions_by_code" ON "sessions" ("project_id", "code_sha256") WHERE "code_sha256" IS NOT NULL;
