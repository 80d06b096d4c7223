import { createRoute, z } from '@hono/zod-openapi'
import { type CodeRow, readUploadedCode } from '../services/code/read-code.ts'
import { time } from './fields.ts'
import type { IncomingMessage } from 'node:http'
import { RepriseError } from '../domain/errors.ts'
import { uploadCode } from '../services/code/upload-code.ts'
import type { CodeStore } from '../services/code/code-store.ts'
import { COMMON_PROBLEMS, json, problems } from './route-parts.ts'
import type { RestApp } from './rest-app.ts'

const CodeResource = z
  .object({
    sha256: z.string().openapi({ description: 'SHA-256 of the archive, which sessions give as `code_sha256`.' }),
    bytes: z.int(),
    files: z.int(),
    created_by: z.string().openapi({ description: 'Name of the token that uploaded it first.' }),
    created_at: time(),
    last_used_at: time().openapi({
      description: 'When it was last uploaded or used by a new session, to ten minutes.',
    }),
  })
  .openapi('Code', { description: 'Uploaded code: files that sessions of a project find in their working directory.' })

const ARCHIVE_TYPE = 'application/x-tar'

const parameters = {
  params: z.strictObject({
    sha256: z
      .string()
      .openapi({ param: { name: 'sha256', in: 'path' }, description: 'SHA-256 of the archive, in hexadecimal.' }),
  }),
  query: z.strictObject({
    project: z.string().optional().openapi({
      description:
        'Name of the project whose sessions may use it. Missing: the only project of the token, or `default`.',
    }),
  }),
}

const getRoute = createRoute({
  method: 'get',
  path: '/v2/code/{sha256}',
  operationId: 'getCode',
  summary: 'Check whether code has been uploaded',
  description: 'Use it before an upload. Code of other projects counts as missing.',
  tags: ['code'],
  request: parameters,
  responses: {
    200: json(CodeResource, 'The code has been uploaded and need not be sent.'),
    ...COMMON_PROBLEMS,
    ...problems('PROJECT_NOT_FOUND', 'CODE_NOT_FOUND'),
  },
})

const putRoute = createRoute({
  method: 'put',
  path: '/v2/code/{sha256}',
  operationId: 'uploadCode',
  summary: 'Upload code',
  description:
    'The body is a tar archive in POSIX format (`tar --format=posix`), not compressed, with files, directories and symbolic links that stay within it. Sessions of the project whose `code_sha256` is its SHA-256 find these files in their working directory. Idempotent.',
  tags: ['code'],
  request: {
    ...parameters,
    body: { required: true, content: { [ARCHIVE_TYPE]: { schema: { type: 'string', format: 'binary' } } } },
  },
  responses: {
    201: json(CodeResource, 'Stored.'),
    200: json(CodeResource, 'The code had already been uploaded.'),
    ...COMMON_PROBLEMS,
    ...problems(
      'MALFORMED_REQUEST',
      'REQUEST_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'PROJECT_NOT_FOUND',
      'QUOTA_EXCEEDED',
    ),
  },
})

export function serveCode(app: RestApp, { code: store }: { code: CodeStore }): void {
  app.openapi(getRoute, async (c) => {
    const input = { ...c.req.valid('param'), ...c.req.valid('query') }
    return c.json(toCode(await readUploadedCode(c.get('context'), store, input)), 200)
  })
  app.openapi(putRoute, async (c) => {
    const { incoming } = c.env
    try {
      const { code, created } = await uploadCode(c.get('context'), store, {
        ...c.req.valid('param'),
        ...c.req.valid('query'),
        bytes: announcedBytes(incoming),
        source: bodyOf(incoming),
      })
      return c.json(toCode(code), created ? 201 : 200)
    } finally {
      // A client reads the response only after it has sent the rest of the body.
      incoming.resume()
    }
  })
}

function toCode(row: CodeRow): z.infer<typeof CodeResource> {
  return {
    sha256: row.sha256,
    bytes: row.bytes,
    files: row.files,
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt.toISOString(),
  }
}

function announcedBytes({ headers }: IncomingMessage): number | null {
  const announced = headers['content-length']
  return announced === undefined ? null : Number(announced)
}

/** Yields the body. @throws RepriseError UNSUPPORTED_MEDIA_TYPE, or MALFORMED_REQUEST if the body is incomplete */
async function* bodyOf(incoming: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  const [type = ''] = (incoming.headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== ARCHIVE_TYPE) {
    throw new RepriseError(
      'UNSUPPORTED_MEDIA_TYPE',
      `The body must be a tar archive: \`Content-Type: ${ARCHIVE_TYPE}\`.`,
    )
  }
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) yield chunk as Uint8Array
  } catch (error) {
    throw new RepriseError('MALFORMED_REQUEST', `The body is incomplete: ${(error as Error).message}.`)
  }
}
