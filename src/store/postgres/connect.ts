import pg from 'pg'
import { connectionSettings, type Patience } from '../connection-settings.ts'

/** The message of pg. */
const CONNECT_TIMED_OUT = 'timeout expired'

/** Opens a connection, for work before the server's pools exist or that needs one of its own. The caller ends it. */
export async function connect(connectionString: string, name: string, patience: Patience): Promise<pg.Client> {
  const client = new pg.Client({ ...connectionSettings(patience), connectionString, application_name: name })
  // An error on the connection also rejects the statement that is running.
  client.on('error', () => {})
  await client.connect().catch((error: Error) => {
    throw error.message === CONNECT_TIMED_OUT ? unanswered(client, patience, error) : error
  })
  return client
}

function unanswered({ host, port }: pg.Client, { connectMs }: Patience, cause: Error): Error {
  const words = `The database at ${host}:${port} does not answer: no connection within ${connectMs / 1000} s.`
  return new Error(words, { cause })
}
