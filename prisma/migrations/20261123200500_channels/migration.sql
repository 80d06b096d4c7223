-- Channels that agents are to open; a row lives for seconds.
CREATE TABLE "channels" (
  "id" UUID NOT NULL,
  "agent_id" UUID NOT NULL,
  "secret" TEXT NOT NULL,
  "url" TEXT,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "channels_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "channels_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "channels_agent_id_idx" ON "channels"("agent_id");
