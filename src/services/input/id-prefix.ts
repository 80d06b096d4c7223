import { argumentError } from './parse-input.ts'

const PREFIX = /^[0-9a-f]{8}[0-9a-f-]*$/i
const UUID_DIGITS = 32

/** What a filter by the beginning of an id says of itself. */
export const ID_PREFIX_WORDS = 'Whose id begins so: its first 8 hexadecimal digits, or more of it.'

/**
 * From the first id with the prefix to the last, which the primary key finds.
 * @throws RepriseError VALIDATION_FAILED
 */
export function idsBeginningWith(prefix: string, path: string): { gte: string; lte: string } {
  const digits = prefix.replaceAll('-', '').toLowerCase()
  if (!PREFIX.test(prefix) || digits.length > UUID_DIGITS) {
    throw argumentError(path, 'It must be the first 8 hexadecimal digits of an id, or more of it.')
  }
  return { gte: asUuid(digits.padEnd(UUID_DIGITS, '0')), lte: asUuid(digits.padEnd(UUID_DIGITS, 'f')) }
}

function asUuid(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
