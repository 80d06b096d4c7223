import { z } from 'zod'
import { parseDecimal } from '../../decimal.ts'
import type { ChildShape } from '../child.ts'

/** What a decision says about the child beyond cause and count. */
export type StoredShape = Pick<ChildShape, 'growth' | 'avoid' | 'exclude'>

const amount = z.string().refine((text) => parseDecimal(text) !== undefined, 'Not an exact amount')

const storedShape = z.object({
  growth: z
    .object({ resourceSlots: z.record(z.string(), amount), batchTimeout: z.number().positive().nullable() })
    .nullable(),
  avoid: z.object({ agents: z.array(z.guid()), groups: z.array(z.string()) }),
  exclude: z.object({ agents: z.array(z.guid()) }).optional(),
})

/** The child's shape as stored in a decision's details, or a description of why it cannot be followed. */
export function readStoredShape(details: unknown): StoredShape | string {
  const parsed = storedShape.safeParse(details)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) =>
    path.length ? `${path.join('.')}: ${message}` : message,
  )
  return `the stored retry decision is not valid (${faults.join('; ')})`
}
