-- Attempts in progress, counted with each claim: there are few, beside many deliveries that wait.
CREATE INDEX "webhook_deliveries_under_way_idx" ON "webhook_deliveries" ("webhook_id") WHERE "under_way";
