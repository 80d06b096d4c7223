import { createHash } from 'node:crypto'
import { createWriteStream, fstatSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pipeline } from 'node:stream/promises'
import { packedBytes, type PackedEntry, packFiles } from '../archive/pack-files.ts'
import { RepriseClientError } from '../client/node/index.ts'
import type { ClientContext } from './client-command.ts'
import type { SessionOptions } from './options/session-options.ts'
import { binaryBytes } from './output/format.ts'
import { progressBar } from './output/output.ts'
import { UsageError } from './present-error.ts'
import { collectFiles, type LeftOut } from './collect-files.ts'

const LARGEST_NAMED = 3

/**
 * Uploads the files of `--upload` and the standard input of `--stdin`, if any are given and the server does not have
 * them. @throws UsageError
 */
export async function withUpload<Options extends Pick<SessionOptions, 'upload' | 'stdin' | 'project'>>(
  { client, out, signal }: Pick<ClientContext, 'client' | 'out' | 'signal'>,
  options: Options,
): Promise<Options & Pick<SessionOptions, 'codeSha256'>> {
  const { upload, stdin } = options
  if (upload === undefined && stdin !== true) return options
  const leftOut = (left: readonly LeftOut[]) => out.note(leftOutWords(left))
  const named = upload === undefined ? [] : await collectFiles(upload, process.cwd(), leftOut)
  await using input = stdin === true ? await readInput() : null
  const entries = input === null ? named : [...named.filter(({ name }) => name !== input.name), input]
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

const LEFT_OUT_NAMED = 10

function leftOutWords(files: readonly LeftOut[]): string {
  const names = files.slice(0, LEFT_OUT_NAMED).map(({ name, reason }) => `${name} (${reason})`)
  const more = files.length > names.length ? ` and ${files.length - names.length} more` : ''
  return `--upload leaves out ${names.join(', ')}${more}`
}

/** The file from which an agent gives the program its standard input. */
const INPUT_FILE = '.reprise-stdin'
/** Bounds the temporary file. The server takes as much as an upload may have, usually less. */
const INPUT_BYTES_MAX = 1024 ** 3

/** Copies standard input to a temporary file, since its size must be known. @throws UsageError */
async function readInput(): Promise<PackedEntry & AsyncDisposable> {
  const directory = await mkdtemp(join(tmpdir(), 'reprise-input-'))
  const path = join(directory, 'stdin')
  let bytes = 0
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > INPUT_BYTES_MAX) {
        throw new UsageError(
          `--stdin: there is more than ${binaryBytes(INPUT_BYTES_MAX)}; use a file of a volume instead.`,
        )
      }
      yield chunk
    }
  }
  const dispose = () => rm(directory, { recursive: true, force: true })
  try {
    await pipeline(process.stdin, counted, createWriteStream(path, { mode: 0o600 }))
  } catch (error) {
    await dispose()
    throw error
  }
  const entry = { kind: 'file', name: INPUT_FILE, path, bytes, executable: false, target: null } as const
  return { ...entry, [Symbol.asyncDispose]: dispose }
}

/** Says that a file or pipe on standard input is not read, unless an option reads it. */
export function noteUnusedInput(out: ClientContext['out']): void {
  const end = process.argv.indexOf('--')
  if (process.argv.slice(2, end < 0 ? undefined : end).some((word) => word === '-' || word.endsWith('=-'))) return
  try {
    const found = fstatSync(0)
    if (!found.isFIFO() && !(found.isFile() && found.size > 0)) return
  } catch {
    return
  }
  out.note('standard input is not passed to the program; with --stdin it is')
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
