-- AlterTable
ALTER TABLE "kernels" ADD COLUMN "stopped" BOOLEAN NOT NULL DEFAULT false;

-- Any other kernel with such an exit code has ended as ERROR.
UPDATE "kernels" SET "stopped" = true WHERE "status" = 'TERMINATED' AND "exit_code" IS DISTINCT FROM 0;
