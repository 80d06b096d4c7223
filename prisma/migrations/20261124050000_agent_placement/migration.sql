-- What a single kernel can have of an agent that consists of several machines, and whether ports of what runs there can
-- be reached. Agents of older versions say nothing.
ALTER TABLE "agents"
  ADD COLUMN "slots_per_kernel_max" JSONB,
  ADD COLUMN "ports" BOOLEAN;
