-- What Prisma's schema language cannot say.

-- The few entries about agents, oldest first: those about sessions and kernels go with their chains.
CREATE INDEX "scheduling_history_agents" ON "scheduling_history" ("id") WHERE "entity" = 'AGENT';

-- The last event that is no longer kept.
INSERT INTO "settings" ("key", "value") VALUES ('events.removed-through', '{"xid": "0", "id": "0"}');
