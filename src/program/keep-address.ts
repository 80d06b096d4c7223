import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SERVER_URL_FILE } from '../client/node/find-server.ts'
import { messageOf } from '../observability/error-message.ts'
import type { RuntimeParts } from './runtime-parts.ts'

/**
 * Writes to the data directory where clients of this machine reach the server, and removes it at the end. Of several
 * servers on one directory it is the one that started last. After a crash the file stays, with an address at which
 * nobody answers.
 */
export async function keepAddress(
  dataDir: string,
  url: string,
  { resources, log }: Pick<RuntimeParts, 'resources' | 'log'>,
): Promise<void> {
  const path = join(dataDir, SERVER_URL_FILE)
  const text = `${reachable(url)}\n`
  try {
    await writeFile(path, text, { mode: 0o600 })
  } catch (error) {
    // As on a full disk: clients of this machine have to be told where the server is.
    log.warn(
      { error: messageOf(error) },
      `${path} could not be written: clients of this machine do not find the server`,
    )
    return
  }
  resources.defer(async () => {
    const found = await readFile(path, 'utf8').catch(() => null)
    if (found === text) await rm(path, { force: true })
  })
}

/** Who listens on all addresses is reached by the loopback one. */
function reachable(url: string): string {
  return url.replace('://0.0.0.0:', '://127.0.0.1:').replace('://[::]:', '://[::1]:')
}
