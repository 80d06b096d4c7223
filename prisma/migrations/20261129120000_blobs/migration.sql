-- CreateTable
CREATE TABLE "blobs" (
    "project_id" UUID NOT NULL,
    "sha256" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
    "last_used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
    "stored_at" TIMESTAMPTZ(3),

    CONSTRAINT "blobs_pkey" PRIMARY KEY ("project_id", "sha256")
);

-- CreateIndex
CREATE INDEX "blobs_last_used_at_idx" ON "blobs"("last_used_at");

-- CreateIndex
CREATE INDEX "checkpoints_project_id_relay_sha256_idx" ON "checkpoints"("project_id", "relay_sha256");

-- DropIndex
DROP INDEX "checkpoints_project_id_idx";

-- AddForeignKey
ALTER TABLE "blobs" ADD CONSTRAINT "blobs_project_id_fkey"
  FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What Prisma's schema language cannot say.

ALTER TABLE "blobs" ADD CONSTRAINT "blobs_sha256" CHECK ("sha256" ~ '^[0-9a-f]{64}$');
ALTER TABLE "blobs" ADD CONSTRAINT "blobs_size" CHECK ("bytes" >= 0);
