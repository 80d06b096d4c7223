import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SERVER_URL_FILE } from '../client/node/server-url-file.ts'

/**
 * Writes to the data directory where clients of this machine reach the server, and removes it at the end. Of several
 * servers on one directory it is the one that started last. After a crash the file stays, with an address at which
 * nobody answers.
 */
export async function keepAddress(dataDir: string, url: string, resources: AsyncDisposableStack): Promise<void> {
  const path = join(dataDir, SERVER_URL_FILE)
  const text = `${reachable(url)}\n`
  await writeFile(path, text, { mode: 0o600 })
  resources.defer(async () => {
    const found = await readFile(path, 'utf8').catch(() => null)
    if (found === text) await rm(path, { force: true })
  })
}

/** Who listens on all addresses is reached by the loopback one. */
function reachable(url: string): string {
  return url.replace('://0.0.0.0:', '://127.0.0.1:').replace('://[::]:', '://[::1]:')
}
