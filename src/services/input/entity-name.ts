import { z } from 'zod'
import { NAME_LENGTH_MAX } from '../../domain/limits.ts'

/** Names chosen by administrators: readable in a URL, a shell and a sentence. */
export const entityName = z
  .string()
  .max(NAME_LENGTH_MAX)
  .regex(/^[\p{L}\p{N}][\p{L}\p{N}._@+-]*$/u, 'must be letters, digits and . _ @ + -, and begin with a letter or digit')
