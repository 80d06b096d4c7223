import { z } from 'zod'
import { isPlainText, PLAIN_TEXT } from '../../domain/plain-text.ts'
import { NAME_LENGTH_MAX } from '../../domain/limits.ts'
import { isStorableText, UNSTORABLE } from '../../domain/storable-text.ts'

/** A name of something, or a key. */
export const text = (max: number) =>
  z.string().min(1).max(max).refine(isStorableText, UNSTORABLE).refine(isPlainText, PLAIN_TEXT)

/** Whether anything may have this name; the database would refuse to compare one that it cannot store. */
export function mayBeName(name: string): boolean {
  return name.length <= NAME_LENGTH_MAX && isStorableText(name)
}
