import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { formatDocument, stringifyDocument } from '@urql/core'
import { print, type DocumentNode } from 'graphql'

/**
 * Every document that the web UI sends, by its SHA-256, in each form in which it may be sent: a server of trusted
 * documents accepts those of its own UI. The cache adds type names; subscriptions and requests that bypass the cache do
 * not.
 */
export async function uiDocuments(root: string): Promise<Record<string, string>> {
  const directory = join(root, 'src/ui')
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('.generated.ts'))
  const modules = await Promise.all(
    names.map((name) => import(pathToFileURL(join(directory, name)).href) as Promise<Record<string, unknown>>),
  )
  const documents = modules.flatMap((module) => Object.values(module)).filter((value) => isDocument(value))
  const texts = documents.flatMap((document) => [print(document), stringifyDocument(formatDocument(document))])
  return Object.fromEntries(texts.map((text) => [createHash('sha256').update(text).digest('hex'), text]))
}

function isDocument(value: unknown): value is DocumentNode {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'Document'
}
