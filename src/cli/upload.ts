import { createHash } from 'node:crypto'
import process from 'node:process'
import { packedBytes, type PackedEntry, packFiles } from '../archive/pack-files.ts'
import { RepriseClientError } from '../client/node/index.ts'
import type { ClientContext } from './client-command.ts'
import type { SessionOptions } from './options/session-options.ts'
import { binaryBytes } from './output/format.ts'
import { progressBar } from './output/output.ts'
import { UsageError } from './present-error.ts'
import { collectFiles } from './collect-files.ts'

const LARGEST_NAMED = 3

/** Uploads the files of `--upload`, if any are given and the server does not have them. @throws UsageError */
export async function withUpload<Options extends Pick<SessionOptions, 'upload' | 'project'>>(
  { client, out, signal }: Pick<ClientContext, 'client' | 'out' | 'signal'>,
  options: Options,
): Promise<Options & Pick<SessionOptions, 'codeSha256'>> {
  if (options.upload === undefined) return options
  const entries = await collectFiles(options.upload, process.cwd())
  const bytes = packedBytes(entries)
  const sha256 = await hashOf(entries)
  const bar = progressBar('uploading')
  let fault: unknown
  const read = async function* () {
    let sent = 0
    try {
      for await (const chunk of packFiles(entries)) {
        sent += chunk.length
        bar.update(sent, bytes, `of ${binaryBytes(bytes)}`)
        yield chunk
      }
    } catch (error) {
      fault = error
      throw error
    }
  }
  try {
    const { sent, files } = await client.uploadCode({ sha256, bytes, read }, { project: options.project, signal })
    bar.end()
    const what = `${files === 1 ? '1 file' : `${files} files`}, ${binaryBytes(bytes)}, ${sha256.slice(0, 12)}`
    out.note(sent ? `uploaded ${what}` : `the server has these files already: ${what}`)
  } catch (error) {
    bar.end()
    if (fault !== undefined) throw new UsageError(`--upload: ${(fault as Error).message}`)
    throw error instanceof RepriseClientError && error.code === 'REQUEST_TOO_LARGE' ? tooLarge(entries, error) : error
  }
  return { ...options, codeSha256: sha256 }
}

/** Creates an error that names the largest files. */
function tooLarge(entries: readonly PackedEntry[], { message }: Error): UsageError {
  const largest = entries.toSorted((a, b) => b.bytes - a.bytes).slice(0, LARGEST_NAMED)
  const names = largest.map(({ name, bytes }) => `${name} (${binaryBytes(bytes)})`).join(', ')
  return new UsageError(`--upload: ${message} The largest files are ${names}; exclude files with a .gitignore.`)
}

async function hashOf(entries: readonly PackedEntry[]): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of packFiles(entries)) hash.update(chunk)
  return hash.digest('hex')
}
