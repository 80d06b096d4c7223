import { z } from 'zod'
import { isPlainText, PLAIN_TEXT } from '../../domain/plain-text.ts'
import { isStorableText, UNSTORABLE } from '../../domain/storable-text.ts'

/** A name of something, or a key. */
export const text = (max: number) =>
  z.string().min(1).max(max).refine(isStorableText, UNSTORABLE).refine(isPlainText, PLAIN_TEXT)
