import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { GraphQLError } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'
import { ERRORS } from '../../domain/errors.ts'

/** Document texts by the SHA-256 of their UTF-8, in lower case hexadecimal. */
export type TrustedDocuments = ReadonlyMap<string, string>

const SHA_256 = /^[0-9a-f]{64}$/

/**
 * Parses the file that client builds write: a JSON object of document texts by SHA-256, with or without the prefix
 * `sha256:`.
 * @throws Error that describes the fault
 */
export function parseTrustedDocuments(json: string): TrustedDocuments {
  const parsed: unknown = JSON.parse(json)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new Error('must be a JSON object of documents by their SHA-256')
  const documents = new Map<string, string>()
  for (const [id, text] of Object.entries(parsed)) {
    const hash = hashOf(id)
    if (hash === undefined || typeof text !== 'string') throw new Error(`"${id}" is not a SHA-256 with a text`)
    if (sha256(text) !== hash) throw new Error(`the SHA-256 of the document "${id}" is ${sha256(text)}`)
    documents.set(hash, text)
  }
  return documents
}

/**
 * Returns the text to execute: that of the trusted document named by `documentId` or as a persisted query, or the query
 * itself if it is a trusted document.
 */
export function trustedText(documents: TrustedDocuments, params: GraphQLParams): string | GraphQLError {
  const hash = namedHash(params) ?? (params.query ? sha256(params.query) : undefined)
  const text = hash === undefined ? undefined : documents.get(hash)
  if (text !== undefined) return text
  const { httpStatus: status } = ERRORS.DOCUMENT_NOT_TRUSTED
  return new GraphQLError(
    'This server executes trusted documents only: name one by its SHA-256 in `documentId`, or send its exact text.',
    { extensions: { code: 'DOCUMENT_NOT_TRUSTED', http: { status } } },
  )
}

/**
 * Restricts execution to trusted documents. Runs after authentication, so that requests without a token do not learn
 * which documents exist.
 */
export function useTrustedDocuments(documents: TrustedDocuments): Plugin {
  return {
    onParams({ params, setParams }) {
      const text = trustedText(documents, params)
      if (text instanceof GraphQLError) throw text
      setParams({ ...params, query: text })
    },
  }
}

function namedHash(params: GraphQLParams): string | undefined {
  const { documentId } = params as { documentId?: unknown }
  const persisted = params.extensions?.['persistedQuery'] as { sha256Hash?: unknown } | undefined
  return hashOf(documentId ?? persisted?.sha256Hash)
}

function hashOf(id: unknown): string | undefined {
  const hash = typeof id === 'string' ? id.replace(/^sha256:/, '').toLowerCase() : ''
  return SHA_256.test(hash) ? hash : undefined
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/**
 * Reads the file of trusted documents. Without a path the result is undefined, and any document may be executed.
 * @throws Error that names the file and its fault
 */
export async function readTrustedDocuments(path: string | undefined): Promise<TrustedDocuments | undefined> {
  if (path === undefined) return undefined
  try {
    return parseTrustedDocuments(await readFile(path, 'utf8'))
  } catch (error) {
    throw new Error(`REPRISE_TRUSTED_DOCUMENTS: ${path}: ${(error as Error).message}`, { cause: error })
  }
}
