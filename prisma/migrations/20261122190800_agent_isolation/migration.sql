-- AlterTable
ALTER TABLE "agents" ADD COLUMN "isolation" TEXT,
  ADD COLUMN "isolation_by_hand" BOOLEAN NOT NULL DEFAULT false;
