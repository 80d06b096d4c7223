-- Which groups' agents may keep what chains store in which store: an agent is believed about all chains of its store.
CREATE TABLE "chain_store_groups" (
    "store" UUID NOT NULL,
    "resource_group" TEXT NOT NULL,

    CONSTRAINT "chain_store_groups_pkey" PRIMARY KEY ("store", "resource_group")
);

-- Where agents have it, and where the attempts ran whose checkpoints are in it.
INSERT INTO "chain_store_groups" ("store", "resource_group")
SELECT chain_store, resource_group FROM "agents" WHERE chain_store IS NOT NULL
UNION
SELECT c.store, s.resource_group
FROM "checkpoints" c JOIN "sessions" s ON s.chain_id = c.chain_id AND s.attempt = c.attempt
WHERE c.store IS NOT NULL;

-- AddForeignKey
ALTER TABLE "chain_store_groups" ADD CONSTRAINT "chain_store_groups_resource_group_fkey" FOREIGN KEY ("resource_group") REFERENCES "resource_groups"("name") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agents" ADD CONSTRAINT "agents_chain_store_resource_group_fkey" FOREIGN KEY ("chain_store", "resource_group") REFERENCES "chain_store_groups"("store", "resource_group") ON DELETE RESTRICT ON UPDATE CASCADE;
