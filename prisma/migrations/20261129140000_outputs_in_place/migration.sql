-- Outputs may stay on the disk of their agent, and are then only listed.
ALTER TABLE "session_outputs" ADD COLUMN "directory" TEXT, ADD COLUMN "node" TEXT,
  ADD CONSTRAINT "session_outputs_place" CHECK (("directory" IS NULL) = ("node" IS NULL));
