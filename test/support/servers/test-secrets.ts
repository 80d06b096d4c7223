import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecretBox } from '../../../src/services/access/secrets.ts'

const KEY = Buffer.alloc(32, 'test')

/** The secret box for tests that need no own key. */
export const TEST_SECRETS = createSecretBox([KEY])

/** The same key as a file, for servers in processes of their own. @returns its path */
export async function writeTestSecretsKey(directory: string): Promise<string> {
  const path = join(directory, 'test-secrets-key')
  await writeFile(path, KEY.toString('base64'), { mode: 0o600 })
  return path
}
