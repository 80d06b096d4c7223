import { createHash } from 'node:crypto'
import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { RepriseError } from '../domain/errors.ts'
import { isExecutable, outputPathFault, OUTPUTS_STATES } from '../domain/session/outputs.ts'
import type { BlobStore } from '../services/blob/blob-store.ts'
import {
  linkToOutputFile,
  openOutputFile,
  type OutputFile,
  type OutputsRow,
  packOutputs,
  readOutputPage,
  requireOutputFile,
  requireOutputs,
  requireStoredOutputs,
} from '../services/session/read-outputs.ts'
import { time, toTime } from './fields.ts'
import { byteRange, savedAs, streamedBody } from './file-answer.ts'
import { SessionIdParameter } from './parameters.ts'
import type { RestApp, RestEnvironment } from './rest-app.ts'
import { COMMON_PROBLEMS, json, nextLink, PAGE_PARAMETERS, pageOf, problems, toPage } from './route-parts.ts'

const OutputFileResource = z
  .object({
    path: z.string(),
    bytes: z.int(),
    sha256: z.string().openapi({ description: 'SHA-256 of its content; for a link, of its target.' }),
    executable: z.boolean(),
    link_target: z.string().nullable().openapi({ description: 'If it is a symbolic link, its target.' }),
    modified_at: time().nullable().openapi({ description: 'By the clock of its machine.' }),
  })
  .openapi('OutputFile', { description: 'A file that an attempt left.' })

const OutputsResource = z
  .object({
    state: z.enum(OUTPUTS_STATES).openapi({ description: 'WAITING and COLLECTING are followed by another state.' }),
    id: z.string().nullable().openapi({ description: 'SHA-256 of the list of files; null until it is complete.' }),
    bytes: z.int().openapi({ description: 'Bytes of all files.' }),
    file_count: z.int(),
    reasons: z
      .array(z.string())
      .openapi({ description: 'Files that could not be taken, or why there are none, in words.' }),
    completed_at: time().nullable(),
    expires_at: time().nullable().openapi({ description: 'When they will be removed; null if they do not expire.' }),
    pinned: z.boolean(),
    place: z
      .object({
        node: z.string().openapi({ description: 'Name of the agent.' }),
        directory: z.string().openapi({ description: 'Absolute path of the directory that the files are in.' }),
      })
      .nullable()
      .openapi({ description: 'Where the files stay; null if the servers have them.' }),
    files: pageOf(OutputFileResource).openapi('OutputFilePage'),
  })
  .openapi('Outputs', { description: 'The files that an attempt left.' })

const match = z
  .string()
  .optional()
  .openapi({ description: 'Only files that match this pattern, in the syntax of `.gitignore`.' })
const link = z
  .string()
  .optional()
  .openapi({ description: 'The code of a one-time download link, in place of a token.' })

const listRoute = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/outputs',
  operationId: 'getOutputs',
  summary: 'Get the outputs of an attempt',
  description: 'Their state, and a page of the files, in the order of their paths.',
  tags: ['outputs'],
  request: { params: SessionIdParameter, query: z.strictObject({ ...PAGE_PARAMETERS, match }) },
  responses: {
    200: json(OutputsResource, 'The outputs; the header `Link` points to the next page of files.'),
    ...COMMON_PROBLEMS,
    ...problems('OUTPUTS_NOT_FOUND'),
  },
})

const binary = (type: string) => ({ [type]: { schema: { type: 'string', format: 'binary' } } }) as const

const tarRoute = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/outputs.tar',
  operationId: 'downloadOutputs',
  summary: 'Download the outputs of an attempt as one archive',
  description: 'A tar archive in POSIX format, not compressed.',
  tags: ['outputs'],
  request: { params: SessionIdParameter, query: z.strictObject({ match, link }) },
  responses: {
    200: { description: 'The archive.', content: binary('application/octet-stream') },
    ...COMMON_PROBLEMS,
    ...problems('OUTPUTS_NOT_FOUND', 'OUTPUTS_IN_PLACE'),
  },
})

const fileRoute = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/outputs/files/{path}',
  operationId: 'downloadOutputFile',
  summary: 'Download one file of the outputs of an attempt',
  description:
    'The path may contain slashes. The `ETag` is the SHA-256 of the content. With a `Range` of one range of bytes the response is 206.',
  tags: ['outputs'],
  request: {
    params: SessionIdParameter.extend({
      path: z.string().openapi({ param: { name: 'path', in: 'path' }, description: 'Path of the file.' }),
    }),
    query: z.strictObject({ link }),
  },
  responses: {
    200: { description: 'The whole file.', content: binary('application/octet-stream') },
    206: { description: 'The requested range.', content: binary('application/octet-stream') },
    302: {
      description:
        'With `link`, if clients reach the bucket (`REPRISE_S3_LINK_ENDPOINT`): where the file is, for a minute.',
    },
    304: { description: 'Not modified.' },
    416: { description: 'The range begins after the end.' },
    ...COMMON_PROBLEMS,
    ...problems('OUTPUTS_NOT_FOUND', 'OUTPUTS_IN_PLACE'),
  },
})

export function serveOutputs(app: RestApp, { blobs }: { blobs: BlobStore }): void {
  app.openapi(listRoute, async (c) => {
    const context = c.get('context')
    const { limit, cursor, match: pattern = null } = c.req.valid('query')
    const outputs = await requireOutputs(context, c.req.valid('param').id)
    const args = { match: pattern, first: limit, after: cursor ?? null }
    const files = toPage(await readOutputPage(context, outputs, args), toFile)
    return c.json({ ...toOutputs(outputs), files }, 200, nextLink(c.req.url, files.next_cursor))
  })
  app.openapi(tarRoute, async (c) => {
    const context = c.get('context')
    const { match: pattern = null } = c.req.valid('query')
    const outputs = await requireStoredOutputs(context, c.req.valid('param').id)
    const headers = { ...savedAs(`outputs-${outputs.sessionId}.tar`), 'Accept-Ranges': 'none' }
    const { bytes, chunks } = await packOutputs(context, blobs, outputs, pattern)
    // The same files make the same archive.
    const tag = `"${outputs.manifest}-${createHash('sha256')
      .update(pattern ?? '')
      .digest('base64url')}"`
    return c.body(streamedBody(c, chunks), 200, { ...headers, 'Content-Length': String(bytes), ETag: tag })
  })
  // The path has slashes, which the routes of OpenAPI documents cannot express.
  app.openAPIRegistry.registerPath(fileRoute)
  app.get('/v2/sessions/:id/outputs/files/:path{.+}', (c) =>
    sendFile(c as Context<RestEnvironment>, blobs, { id: c.req.param('id'), path: c.req.param('path') }),
  )
}

async function sendFile(
  c: Context<RestEnvironment>,
  blobs: BlobStore,
  { id, path }: { id: string; path: string },
): Promise<Response> {
  const context = c.get('context')
  const { data } = SessionIdParameter.safeParse({ id })
  if (data === undefined || outputPathFault(path) !== null)
    throw new RepriseError('OUTPUTS_NOT_FOUND', `session ${id} has no such output`)
  const outputs = await requireStoredOutputs(context, data.id)
  const file = await requireOutputFile(context, outputs.sessionId, path)
  const tag = `"${file.sha256}"`
  const headers: Record<string, string> = { ...savedAs(path.split('/').at(-1)!), ETag: tag }
  if (c.req.header('if-none-match') === tag) return c.body(null, 304, headers)
  const elsewhere = c.req.query('link') === undefined ? null : await linkToOutputFile(blobs, outputs, file)
  if (elsewhere !== null) return c.body(null, 302, { Location: elsewhere, 'Cache-Control': 'no-store' })
  const sameAsBefore = [undefined, tag].includes(c.req.header('if-range'))
  const range = sameAsBefore ? byteRange(c.req.header('range'), file.bytes) : null
  if (range === 'unsatisfiable') return c.body(null, 416, { ...headers, 'Content-Range': `bytes */${file.bytes}` })
  const { first, last } = range ?? { first: 0, last: file.bytes - 1 }
  headers['Content-Length'] = String(last - first + 1)
  if (range) headers['Content-Range'] = `bytes ${first}-${last}/${file.bytes}`
  const content = await openOutputFile(blobs, outputs, file, { from: first, to: last + 1 })
  return c.body(streamedBody(c, each(content)), range ? 206 : 200, headers)
}

async function* each(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  yield* chunks
}

function toOutputs(outputs: OutputsRow): Omit<z.infer<typeof OutputsResource>, 'files'> {
  return {
    state: outputs.state,
    id: outputs.manifest,
    bytes: outputs.bytes,
    file_count: outputs.files,
    reasons: outputs.reasons,
    completed_at: toTime(outputs.completedAt),
    expires_at: toTime(outputs.expiresAt),
    pinned: outputs.isPinned,
    place: outputs.place,
  }
}

function toFile({ path, bytes, sha256, mode, target, modifiedAt }: OutputFile): z.infer<typeof OutputFileResource> {
  return { path, bytes, sha256, executable: isExecutable(mode), link_target: target, modified_at: modifiedAt }
}
