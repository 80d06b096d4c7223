import { basename } from 'node:path'
import type { ArchiveEntry } from '../../archive/archive-entry.ts'
import { ARCHIVE_END, archiveHeader, archivePadding, entryBytes } from '../../archive/archive-format.ts'
import { RepriseError } from '../../domain/errors.ts'
import { OUTPUT_TEXT_BYTES_MAX } from '../../domain/limits.ts'
import { createOutputMatcher, isExecutable, type OutputFile, outputPatternFault } from '../../domain/session/outputs.ts'
import {
  type OutputsRow,
  readOutputFile as readFile,
  readOutputFiles as readFiles,
  readOutputs as readRows,
} from '../../store/sql/session/read-outputs.sql.ts'
import type { BlobStore } from '../blob/blob-store.ts'
import { argumentError } from '../input/parse-input.ts'
import { decodeKeyset, encodeKeyset, invalidCursor, type OrderColumn, type Page, pageSize } from '../paging.ts'
import type { ServiceContext } from '../service-context.ts'

export type { OutputFile, OutputsRow }

type Reader = Pick<ServiceContext, 'db' | 'viewer'>

/** Reads the outputs of sessions that the viewer sees; sessions without outputs are missing. */
export async function readOutputs(
  { db, viewer }: Reader,
  sessionIds: readonly string[],
): Promise<Map<string, OutputsRow>> {
  const rows = await readRows(db, sessionIds, viewer.projectId)
  return new Map(rows.map((row) => [row.sessionId, row]))
}

/** @throws RepriseError OUTPUTS_NOT_FOUND */
export async function requireOutputs(context: Reader, sessionId: string): Promise<OutputsRow> {
  const found = (await readOutputs(context, [sessionId])).get(sessionId)
  if (found !== undefined) return found
  throw new RepriseError('OUTPUTS_NOT_FOUND', `session ${sessionId} has no outputs`)
}

/** Requires outputs whose contents the servers have. @throws RepriseError OUTPUTS_NOT_FOUND, OUTPUTS_IN_PLACE */
export async function requireStoredOutputs(context: Reader, sessionId: string): Promise<OutputsRow> {
  const outputs = await requireOutputs(context, sessionId)
  if (outputs.place === null) return outputs
  const { node, directory } = outputs.place
  throw new RepriseError('OUTPUTS_IN_PLACE', `the outputs of session ${sessionId} stay on ${node}, in ${directory}`)
}

const BY_PATH: OrderColumn[] = [{ column: 'path', direction: 'asc', type: 'text' }]

/** Files that are read at a time to find those that match. */
const READ_AT_ONCE = 2_000

/**
 * Reads a page of the files that match, by path, forward only. The caller has checked that the viewer may see them.
 *
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readOutputPage(
  { db }: Pick<ServiceContext, 'db'>,
  outputs: Pick<OutputsRow, 'sessionId' | 'files'>,
  args: { match?: string | null; first?: number | null; after?: string | null },
): Promise<Page<OutputFile>> {
  const { size } = pageSize({ first: args.first ?? null })
  const after = args.after == null ? '' : decodeKeyset(BY_PATH, args.after)?.[0]
  if (typeof after !== 'string') throw invalidCursor('after')
  const found: OutputFile[] = []
  for await (const file of outputFiles({ db }, outputs.sessionId, {
    match: args.match ?? null,
    after,
    most: size + 1,
  })) {
    if (found.push(file) > size) break
  }
  const more = found.length > size
  const edges = found.slice(0, size).map((node) => ({ cursor: encodeKeyset(BY_PATH, node), node }))
  const count = async () => {
    if (args.match == null) return outputs.files
    let number = 0
    for await (const _ of outputFiles({ db }, outputs.sessionId, { match: args.match })) number += 1
    return number
  }
  return {
    edges,
    pageInfo: {
      hasNextPage: more,
      hasPreviousPage: args.after != null,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    totalCount: count,
    totalCountIsExact: async () => true,
  }
}

/**
 * Yields the files that match, by path. @throws RepriseError VALIDATION_FAILED
 *
 * @param most how many the caller will take at most
 */
export async function* outputFiles(
  { db }: Pick<ServiceContext, 'db'>,
  sessionId: string,
  { match, after = '', most = READ_AT_ONCE }: { match: string | null; after?: string; most?: number },
): AsyncGenerator<OutputFile, void> {
  const fault = match === null ? null : outputPatternFault(match)
  if (fault !== null) throw argumentError('match', `\`match\` ${fault}.`)
  const matches = match === null ? () => true : createOutputMatcher([match])
  const limit = match === null ? Math.min(most, READ_AT_ONCE) : READ_AT_ONCE
  let last = after
  for (;;) {
    const files = await readFiles(db, { sessionId, after: last, limit })
    for (const file of files) if (matches(file.path)) yield file
    if (files.length < limit) return
    last = files.at(-1)!.path
  }
}

/** @throws RepriseError OUTPUTS_NOT_FOUND */
export async function requireOutputFile(
  { db }: Pick<ServiceContext, 'db'>,
  sessionId: string,
  path: string,
): Promise<OutputFile> {
  const found = await readFile(db, sessionId, path)
  if (found !== undefined) return found
  throw new RepriseError('OUTPUTS_NOT_FOUND', `the outputs of session ${sessionId} have no file ${path}`)
}

/**
 * Opens the content of a file, or a range of it. A link's content is its target.
 *
 * @throws RepriseError OUTPUTS_NOT_FOUND if the servers do not have it any more
 */
export async function openOutputFile(
  blobs: BlobStore,
  { projectId, sessionId }: Pick<OutputsRow, 'projectId' | 'sessionId'>,
  { path, bytes, sha256, target }: OutputFile,
  range: { from: number; to: number } = { from: 0, to: bytes },
): Promise<AsyncIterable<Uint8Array>> {
  if (target !== null) return oneChunk(Buffer.from(target).subarray(range.from, range.to))
  if (range.from === range.to) return oneChunk(new Uint8Array())
  const opened = await blobs.open({ projectId, sha256 }, range)
  if (opened !== null) return opened.chunks
  const where = 'all servers must share one store of blobs (REPRISE_BLOB_DIR, REPRISE_BLOB_URL)'
  throw new RepriseError(
    'OUTPUTS_NOT_FOUND',
    `the content of ${path} of session ${sessionId} is gone from ${blobs.place}; ${where}`,
  )
}

const LINK_VALID_SECONDS = 60

/** Returns a URL at which a client reads the file from the bucket itself; null where there is none. */
export async function linkToOutputFile(
  blobs: BlobStore,
  { projectId }: Pick<OutputsRow, 'projectId'>,
  { path, bytes, sha256, target }: OutputFile,
): Promise<string | null> {
  if (target !== null || bytes === 0) return null
  return blobs.link({ projectId, sha256 }, { fileName: basename(path), withinS: LINK_VALID_SECONDS })
}

/**
 * Packs the files that match as a tar archive, of which only one file at a time is read.
 *
 * @returns its length, and its bytes
 */
export async function packOutputs(
  context: Pick<ServiceContext, 'db'>,
  blobs: BlobStore,
  outputs: Pick<OutputsRow, 'projectId' | 'sessionId'>,
  match: string | null,
): Promise<{ bytes: number; chunks: AsyncGenerator<Uint8Array, void> }> {
  let bytes = ARCHIVE_END.length
  for await (const file of outputFiles(context, outputs.sessionId, { match })) bytes += entryBytes(entryOf(file))
  return { bytes, chunks: packed() }

  async function* packed(): AsyncGenerator<Uint8Array, void> {
    for await (const file of outputFiles(context, outputs.sessionId, { match })) {
      const entry = entryOf(file)
      yield archiveHeader(entry)
      if (entry.kind === 'link') continue
      yield* await openOutputFile(blobs, outputs, file)
      const padding = archivePadding(entry.bytes)
      if (padding.length > 0) yield padding
    }
    yield ARCHIVE_END
  }
}

function entryOf({ path, bytes, mode, target }: OutputFile): ArchiveEntry {
  const kind = target === null ? 'file' : 'link'
  return { kind, name: path, bytes: target === null ? bytes : 0, executable: isExecutable(mode), target }
}

/** Reads the text of a small file in UTF-8; null for a larger one, for other content, if it is gone or stays in place. */
export async function readOutputText(
  blobs: BlobStore,
  outputs: Pick<OutputsRow, 'projectId' | 'sessionId' | 'place'>,
  file: OutputFile,
): Promise<string | null> {
  if (file.bytes > OUTPUT_TEXT_BYTES_MAX || outputs.place !== null) return null
  try {
    const chunks: Uint8Array[] = []
    for await (const chunk of await openOutputFile(blobs, outputs, file)) chunks.push(chunk)
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks))
    return text.includes('\0') ? null : text
  } catch (error) {
    if (error instanceof TypeError || error instanceof RepriseError) return null
    throw error
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  if (bytes.length > 0) yield bytes
}
