import { createConnection } from '../../client/connection/create-connection.ts'
import { browserKey } from './browser-key.ts'
import { fetchNoting } from './build.ts'

/** To the server that this page came from. The browser sends the cookie of the login along. */
export const connection = createConnection({
  url: location.origin,
  browserKey,
  fetch: fetchNoting,
  retry: { network: { stopAfterSeconds: 15 } },
})
