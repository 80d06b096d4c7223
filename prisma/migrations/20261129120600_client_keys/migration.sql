-- CreateTable
CREATE TABLE "client_keys" (
    "scope_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" TEXT NOT NULL,
    "answer" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),

    CONSTRAINT "client_keys_pkey" PRIMARY KEY ("scope_id","key")
);

-- CreateIndex
CREATE INDEX "client_keys_created_at_idx" ON "client_keys"("created_at");
