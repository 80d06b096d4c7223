import { startServer, type ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { temporaryDirectory } from '../run/temporary-directory.ts'
import { writeTestSecretsKey } from './test-secrets.ts'

/**
 * An API server on a database that tests use, in a process of its own: what a test does itself then counts neither as
 * time nor as memory of the server.
 */
export async function startSecondServer(
  database: { connectionString: string },
  onLog: (line: string) => void = () => {},
): Promise<ServerProcess> {
  const dataDir = await temporaryDirectory('beside')
  const env = {
    REPRISE_DATABASE_URL: database.connectionString,
    REPRISE_ROLES: 'api',
    REPRISE_SECRETS_KEY_FILE: await writeTestSecretsKey(dataDir),
  }
  return startServer({ dataDir, port: 0, onLog, env })
}
