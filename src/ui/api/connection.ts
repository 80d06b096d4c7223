import { createConnection } from '../../client/connection/create-connection.ts'
import { fetchNoting } from './build.ts'

/** To the server that this page came from. The browser sends the session's cookie along. */
export const connection = createConnection({
  url: location.origin,
  fetch: fetchNoting,
  retry: { network: { stopAfterSeconds: 15 } },
})
