import { z } from 'zod'
import { parseDecimal } from '../../decimal.ts'
import type { ChildChanges } from '../child.ts'

/** What a decision says about the child beyond cause and count. */
export type StoredChildChanges = Pick<ChildChanges, 'growth' | 'avoid' | 'exclude'>

const amount = z.string().refine((text) => parseDecimal(text) !== undefined, 'Not an exact amount')

const storedChildChanges = z.object({
  growth: z
    .object({ resourceSlots: z.record(z.string(), amount), batchTimeout: z.number().positive().nullable() })
    .nullable(),
  avoid: z.object({ agents: z.array(z.guid()), groups: z.array(z.string()) }),
  exclude: z.object({ agents: z.array(z.guid()) }).optional(),
})

/** What changes in the child, as stored in a decision's details, or a description of why it cannot be followed. */
export function readStoredChildChanges(details: unknown): StoredChildChanges | string {
  const parsed = storedChildChanges.safeParse(details)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) =>
    path.length ? `${path.join('.')}: ${message}` : message,
  )
  return `the stored retry decision is not valid (${faults.join('; ')})`
}
