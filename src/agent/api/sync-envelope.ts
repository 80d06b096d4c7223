import { z } from 'zod'
import type { SyncRequest } from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'

/** The fields that the gateway needs before the service validates the whole sync. */
const schema = z.looseObject({
  agentId: z.uuid(),
  instanceId: z.uuid(),
  sequence: z.int().min(1),
  waitMs: z.number(),
})

/** @throws RepriseError VALIDATION_FAILED */
export function parseEnvelope(body: unknown): SyncRequest {
  const parsed = schema.safeParse(body)
  if (parsed.success) return body as SyncRequest
  const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  throw new RepriseError(
    'VALIDATION_FAILED',
    issues.map(({ path, message }) => `${path}: ${message}`).join('; '),
    issues,
  )
}
