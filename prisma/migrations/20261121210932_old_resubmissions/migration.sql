-- Which have been over for longest: what is left of them when their chains have gone is looked for by this.
CREATE INDEX "resubmissions_finished_at" ON "resubmissions" ("finished_at") WHERE "finished_at" IS NOT NULL;
