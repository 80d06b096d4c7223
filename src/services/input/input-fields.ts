import { z } from 'zod'
import { isPlainText, isStorableText, PLAIN_TEXT, UNSTORABLE } from '../../domain/storable-text.ts'
import {
  FILTER_LIST_MAX,
  NAME_LENGTH_MAX,
  SLOT_FRACTION_DIGITS_MAX,
  SLOT_NAME_LENGTH_MAX,
  OUTPUT_KEEP_DAYS_MAX,
  SLOTS_MAX,
} from '../../domain/limits.ts'
import { argumentError, withoutNulls } from './parse-input.ts'
import { parseAmount } from '../../domain/amounts.ts'

/** The text of a name or a key. */
export const text = (max: number) =>
  z.string().min(1).max(max).refine(isStorableText, UNSTORABLE).refine(isPlainText, PLAIN_TEXT)

/**
 * Whether the text can be the name of an object. If not, it must not be looked up: the database returns an error for
 * text that it cannot store.
 */
export function mayBeName(name: string): boolean {
  return name.length <= NAME_LENGTH_MAX && isStorableText(name)
}

/** Days for which outputs are kept. */
export const outputKeepDays = z.number().positive().max(OUTPUT_KEEP_DAYS_MAX)

/** Names chosen by administrators: readable in a URL, a shell and a sentence. */
export const entityName = z
  .string()
  .max(NAME_LENGTH_MAX)
  .regex(/^[\p{L}\p{N}][\p{L}\p{N}._@+-]*$/u, 'must be letters, digits and . _ @ + -, and begin with a letter or digit')

/** A filter of a text; all given conditions must match, and null counts as missing. */
export interface TextFilterInput {
  equals?: string | null
  in?: string[] | null
  contains?: string | null
  startsWith?: string | null
  endsWith?: string | null
}

const PARTS = ['contains', 'startsWith', 'endsWith'] as const

/**
 * Converts the filter for Prisma. Prisma puts parts of texts into LIKE patterns unescaped, where `%` and `_` would
 * match anything and a final backslash is a database error.
 * @throws RepriseError VALIDATION_FAILED for too many values
 */
export function textConditions<Filter extends TextFilterInput>(
  filter: Filter | null | undefined,
  path: string,
): Filter | null | undefined {
  if (!filter) return filter
  if ((filter.in?.length ?? 0) > FILTER_LIST_MAX) {
    throw argumentError(`${path}.in`, `At most ${FILTER_LIST_MAX} values.`)
  }
  const escaped = { ...filter }
  for (const part of PARTS) {
    const pattern = filter[part]
    if (pattern != null) escaped[part] = pattern.replaceAll(/[\\%_]/g, '\\$&')
  }
  return escaped
}

/** The same for the column `name`: nothing without conditions. @throws RepriseError VALIDATION_FAILED */
export function nameWhere(
  filter: TextFilterInput | null | undefined,
  path = 'filter.name',
): { name?: { [Key in keyof TextFilterInput]?: NonNullable<TextFilterInput[Key]> } } {
  const conditions = withoutNulls(textConditions(filter, path) ?? {})
  return Object.keys(conditions).length === 0 ? {} : { name: conditions }
}

const PREFIX = /^[0-9a-f]{8}[0-9a-f-]*$/i
const UUID_DIGITS = 32

/** The description of filters by the beginning of an id. */
export const ID_PREFIX_WORDS = 'The beginning of the id: at least its first 8 hexadecimal digits.'

/**
 * Computes the range from the first id with the prefix to the last, which the primary key can search.
 * @throws RepriseError VALIDATION_FAILED
 */
export function idsBeginningWith(prefix: string, path: string): { gte: string; lte: string } {
  const digits = prefix.replaceAll('-', '').toLowerCase()
  if (!PREFIX.test(prefix) || digits.length > UUID_DIGITS) {
    throw argumentError(path, 'It must be the beginning of an id: at least its first 8 hexadecimal digits.')
  }
  return { gte: asUuid(digits.padEnd(UUID_DIGITS, '0')), lte: asUuid(digits.padEnd(UUID_DIGITS, 'f')) }
}

function asUuid(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const FAULT = `must be a decimal of at most ${SLOT_FRACTION_DIGITS_MAX} fraction digits; bytes may end in k, m, g or t`

/** Converts [{ slot, amount }], with each slot once, to { slot: amount } as plain decimals. */
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
