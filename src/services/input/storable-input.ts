import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'
import { refuseInput } from './parse-input.ts'

/**
 * Looks at every text of what a reader asks for: nothing that the database stores has such a text, and it would refuse
 * to compare one. Inputs of changes are checked by their services, which tell all of their faults at once.
 * @throws RepriseError VALIDATION_FAILED with the place of the first text that cannot be stored
 */
export function refuseUnstorable(input: unknown, path = ''): void {
  const place = placeOfUnstorable(input, path)
  if (place === undefined) return
  refuseInput([{ path: place, message: STORABLE_TEXT }])
}

function placeOfUnstorable(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return isStorableText(value) ? undefined : path
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, part] of Object.entries(value)) {
    const found = placeOfUnstorable(part, path === '' ? key : `${path}.${key}`)
    if (found !== undefined) return found
  }
  return undefined
}
