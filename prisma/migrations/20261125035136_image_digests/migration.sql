-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "image_digest" TEXT,
ADD COLUMN     "required_image_digest" TEXT;

-- What Prisma's schema language cannot say.

ALTER TABLE "sessions" ADD CONSTRAINT "sessions_image_digest"
  CHECK ("image_digest" ~ '^sha256:[0-9a-f]{64}$' AND "required_image_digest" ~ '^sha256:[0-9a-f]{64}$'
    AND "image_digest" = "required_image_digest");
