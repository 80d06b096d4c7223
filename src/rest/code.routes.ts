import { createRoute, z } from '@hono/zod-openapi'
import { type CodeRow, readUploadedCode } from '../services/code/read-code.ts'
import { time } from './fields.ts'
import type { IncomingMessage } from 'node:http'
import { RepriseError } from '../domain/errors.ts'
import {
  assertMayUpload,
  readUploadState,
  receiveCodePart,
  recordUpload,
  uploadCode,
} from '../services/code/upload-code.ts'
import { BLOB_PART_BYTES, BLOB_PART_WITHIN_MS, BLOB_PARTS_AT_ONCE_MAX } from '../domain/limits.ts'
import { createBodyRoom, RequestGone } from '../services/input/read-body.ts'
import type { BlobState } from '../domain/agent/protocol.ts'
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

const BLOB_TYPE = 'application/octet-stream'

const BlobResource = z
  .object({
    sha256: z.string(),
    received: z.int().openapi({ description: 'Bytes that have arrived: the next part begins here.' }),
    complete: z.boolean().openapi({ description: 'All bytes have arrived, and their hash is right.' }),
  })
  .openapi('Upload', { description: 'The state of an upload in parts.' })

const getPartRoute = createRoute({
  method: 'get',
  path: '/v2/code/{sha256}/parts',
  operationId: 'getUpload',
  summary: 'Ask where an upload continues',
  tags: ['code'],
  request: parameters,
  responses: {
    200: json(BlobResource, 'The state of the upload; nothing has arrived of one that is unknown.'),
    ...COMMON_PROBLEMS,
    ...problems('PROJECT_NOT_FOUND', 'STORAGE_UNAVAILABLE'),
  },
})

const putPartRoute = createRoute({
  method: 'put',
  path: '/v2/code/{sha256}/parts',
  operationId: 'uploadCodePart',
  summary: 'Upload a part of code',
  description:
    'Parts have 8 MiB (8388608 bytes), but for the last. They are sent one after the other; a part that is not the next one is ignored, and `received` in the response is the offset of the next one. Any server continues an upload, for six hours after its last part. Once it is complete, `recordCode` makes it available to sessions. If all parts have been received and `complete` is false, its hash is still being checked: send an empty last part until it is true. Idempotent.',
  tags: ['code'],
  request: {
    ...parameters,
    query: parameters.query.extend({
      bytes: z.coerce.number().int().min(0).openapi({ description: 'Size of the whole archive.' }),
      offset: z.coerce.number().int().min(0).openapi({ description: 'Where this part begins.' }),
    }),
    body: { required: true, content: { [BLOB_TYPE]: { schema: { type: 'string', format: 'binary' } } } },
  },
  responses: {
    200: json(BlobResource, 'The state of the upload after this part.'),
    ...COMMON_PROBLEMS,
    ...problems(
      'MALFORMED_REQUEST',
      'REQUEST_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'PROJECT_NOT_FOUND',
      'QUOTA_EXCEEDED',
      'SERVER_DISK_FULL',
      'STORAGE_UNAVAILABLE',
    ),
  },
})

const postRoute = createRoute({
  method: 'post',
  path: '/v2/code/{sha256}',
  operationId: 'recordCode',
  summary: 'Make code that was uploaded in parts available',
  description: `What was uploaded must be a tar archive as for \`uploadCode\`. Idempotent.`,
  tags: ['code'],
  request: parameters,
  responses: {
    201: json(CodeResource, 'Available.'),
    200: json(CodeResource, 'The code had already been available.'),
    ...COMMON_PROBLEMS,
    ...problems('REQUEST_TOO_LARGE', 'PROJECT_NOT_FOUND', 'CODE_NOT_FOUND', 'QUOTA_EXCEEDED', 'STORAGE_UNAVAILABLE'),
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
  const withBody = createBodyRoom(BLOB_PARTS_AT_ONCE_MAX, BLOB_PART_BYTES)
  app.openapi(getRoute, async (c) => {
    const input = { ...c.req.valid('param'), ...c.req.valid('query') }
    return c.json(toCode(await readUploadedCode(c.get('context'), store, input)), 200)
  })
  app.openapi(getPartRoute, async (c) => {
    const input = { ...c.req.valid('param'), ...c.req.valid('query') }
    return c.json(toUpload(await readUploadState(c.get('context'), store, input)), 200)
  })
  app.openapi(putPartRoute, async (c) => {
    const { incoming } = c.env
    try {
      const { bytes, offset, ...query } = c.req.valid('query')
      const asked = { ...c.req.valid('param'), ...query }
      await assertMayUpload(c.get('context'), asked)
      assertType(incoming, BLOB_TYPE, 'bytes')
      const bounds = { withinMs: BLOB_PART_WITHIN_MS }
      const state = await withBody(incoming, bounds, (part) =>
        receiveCodePart(c.get('context'), store, { ...asked, bytes, offset, part }),
      )
      return c.json(toUpload(state), 200)
    } catch (error) {
      if (error instanceof RequestGone) throw new RepriseError('MALFORMED_REQUEST', 'The body is incomplete.')
      throw error
    } finally {
      incoming.resume()
    }
  })
  app.openapi(postRoute, async (c) => {
    const input = { ...c.req.valid('param'), ...c.req.valid('query') }
    const { code, created } = await recordUpload(c.get('context'), store, input)
    return c.json(toCode(code), created ? 201 : 200)
  })
  app.openapi(putRoute, async (c) => {
    const { incoming } = c.env
    try {
      const asked = { ...c.req.valid('param'), ...c.req.valid('query') }
      await assertMayUpload(c.get('context'), asked)
      assertType(incoming, ARCHIVE_TYPE, 'a tar archive')
      const { code, created } = await uploadCode(c.get('context'), store, {
        ...asked,
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

function toUpload({ sha256, received, complete }: BlobState): z.infer<typeof BlobResource> {
  return { sha256, received, complete }
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

/** @throws RepriseError UNSUPPORTED_MEDIA_TYPE */
function assertType({ headers }: IncomingMessage, wanted: string, what: string): void {
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() === wanted) return
  throw new RepriseError('UNSUPPORTED_MEDIA_TYPE', `The body must be ${what}: \`Content-Type: ${wanted}\`.`)
}

/** Yields the body. @throws RepriseError MALFORMED_REQUEST if the body is incomplete */
async function* bodyOf(incoming: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) yield chunk as Uint8Array
  } catch (error) {
    throw new RepriseError('MALFORMED_REQUEST', `The body is incomplete: ${(error as Error).message}.`)
  }
}
