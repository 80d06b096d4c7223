import { z } from 'zod'
import { SLOT_FRACTION_DIGITS_MAX, SLOT_NAME_LENGTH_MAX, SLOTS_MAX } from '../../domain/limits.ts'
import { parseAmount } from '../../domain/amounts.ts'

const FAULT = `must be a decimal of at most ${SLOT_FRACTION_DIGITS_MAX} fraction digits; bytes may end in k, m, g or t`

/** [{ slot, amount }], each slot once → { slot: amount } as plain decimals. */
export const slotAmounts = z
  .array(
    z.strictObject({
      slot: z
        .string()
        .regex(/^[A-Za-z][\w.-]*$/)
        .max(SLOT_NAME_LENGTH_MAX),
      amount: z.union([z.string(), z.number()]),
    }),
  )
  .max(SLOTS_MAX)
  .transform((slots, context): Record<string, string> => {
    const amounts = new Map<string, string>()
    for (const [index, { slot, amount: written }] of slots.entries()) {
      const amount = parseAmount(slot, written)
      if (amount === undefined || (amount.split('.')[1] ?? '').length > SLOT_FRACTION_DIGITS_MAX) {
        context.addIssue({ code: 'custom', path: [index, 'amount'], message: FAULT })
      }
      if (amounts.has(slot)) context.addIssue({ code: 'custom', path: [index, 'slot'], message: 'must be given once' })
      amounts.set(slot, amount ?? '0')
    }
    return Object.fromEntries(amounts)
  })
