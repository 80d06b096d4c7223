import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { messageOf } from '../observability/error-message.ts'
import type { Logger } from '../observability/log.ts'

export interface TlsFiles {
  certFile: string
  keyFile: string
}

/** A certificate with its chain and the key that belongs to it, both as PEM. */
export interface TlsPair {
  cert: Buffer
  key: Buffer
}

/**
 * Interval at which the files are read again. They are not watched, because a renewal may replace the files, their
 * directory or links to them, and a watcher of the old ones would not notice.
 */
const CHECK_INTERVAL_MS = 2_000

/** Reads the pair. @throws Error with a message for people that names the variable */
export async function readTlsPair({ certFile, keyFile }: TlsFiles): Promise<TlsPair> {
  const [cert, key] = await Promise.all([
    readNamed('REPRISE_TLS_CERT_FILE', certFile),
    readNamed('REPRISE_TLS_KEY_FILE', keyFile),
  ])
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    const needed = 'Both are needed in PEM: the certificate with its chain, and its key without a passphrase.'
    throw new Error(`${certFile} and ${keyFile} are no pair for TLS: ${messageOf(error)}. ${needed}`, { cause: error })
  }
  return { cert, key }
}

async function readNamed(variable: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    throw new Error(`${variable} names a file that cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * Calls `replace` when the files have another pair. An invalid pair is logged once, and the old one stays in use: a
 * renewal may write one file after the other.
 * @returns a function that stops watching
 */
export function watchTlsPair(
  files: TlsFiles,
  options: { current: TlsPair; log: Logger; replace: (pair: TlsPair) => void },
): () => void {
  const { log, replace } = options
  let { current } = options
  let complaint = ''
  let passing = false

  async function pass(): Promise<void> {
    try {
      const pair = await readTlsPair(files)
      complaint = ''
      if (pair.cert.equals(current.cert) && pair.key.equals(current.key)) return
      replace(pair)
      current = pair
      log.info(`TLS: new connections use the certificate that ${files.certFile} has now`)
    } catch (error) {
      if (messageOf(error) === complaint) return
      complaint = messageOf(error)
      log.error({ err: error }, 'TLS: the certificate before stays in use')
    }
  }

  const timer = setInterval(() => {
    if (passing) return
    passing = true
    void pass().finally(() => (passing = false))
  }, CHECK_INTERVAL_MS).unref()
  return () => clearInterval(timer)
}
