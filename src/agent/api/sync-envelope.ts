import { z } from 'zod'
import type { SyncRequest } from '../../domain/agent/protocol.ts'
import { parseInput } from '../../services/input/parse-input.ts'

/** The fields that the gateway needs before the service validates the whole sync. */
const schema = z.looseObject({
  agentId: z.uuid(),
  instanceId: z.uuid(),
  sequence: z.int().min(1),
  waitMs: z.number(),
})

/** @throws RepriseError VALIDATION_FAILED */
export function parseEnvelope(body: unknown): SyncRequest {
  parseInput(schema, body)
  return body as SyncRequest
}
