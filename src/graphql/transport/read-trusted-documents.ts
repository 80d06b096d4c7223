import { readFile } from 'node:fs/promises'
import { parseTrustedDocuments, type TrustedDocuments } from './trusted-documents.ts'

/** Undefined if any document may be executed. @throws Error that names the file and its fault */
export async function readTrustedDocuments(path: string | undefined): Promise<TrustedDocuments | undefined> {
  if (path === undefined) return undefined
  try {
    return parseTrustedDocuments(await readFile(path, 'utf8'))
  } catch (error) {
    throw new Error(`REPRISE_TRUSTED_DOCUMENTS: ${path}: ${(error as Error).message}`, { cause: error })
  }
}
