-- CreateTable
CREATE TABLE "chain_directories" (
    "agent_id" UUID NOT NULL,
    "chain_id" UUID NOT NULL,

    CONSTRAINT "chain_directories_pkey" PRIMARY KEY ("agent_id","chain_id")
);

-- AddForeignKey
ALTER TABLE "chain_directories" ADD CONSTRAINT "chain_directories_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE CASCADE;
