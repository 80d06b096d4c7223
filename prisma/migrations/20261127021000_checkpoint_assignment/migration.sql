-- An attempt that was put back may have left a checkpoint, and may leave another one elsewhere.
ALTER TABLE "checkpoints" ADD COLUMN "assignment" INTEGER;
