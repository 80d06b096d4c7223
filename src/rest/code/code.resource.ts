import { z } from '@hono/zod-openapi'
import type { CodeRow } from '../../services/code/read-code.ts'
import { time } from '../resources/fields.ts'

export const CodeResource = z
  .object({
    sha256: z.string().openapi({ description: 'Of the archive: what `code_sha256` of a session names.' }),
    bytes: z.int(),
    files: z.int(),
    created_by: z.string().openapi({ description: 'The name of the token that uploaded it first.' }),
    created_at: time(),
    last_used_at: time().openapi({
      description: 'When it was last uploaded or named by a new session, to ten minutes.',
    }),
  })
  .openapi('Code', { description: 'Files that sessions of a project find in their working directory.' })

export function toCode(row: CodeRow): z.infer<typeof CodeResource> {
  return {
    sha256: row.sha256,
    bytes: row.bytes,
    files: row.files,
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt.toISOString(),
  }
}
