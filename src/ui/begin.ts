import { AT_ONCE, createGraphCache } from './api/connection.ts'
import { UiViewerDocument } from './app/app.generated.ts'
import { searchReader } from './app/list/search.ts'
import { beginToRead } from './pages/chains/read-chains.ts'

/** The GraphQL client of all pages. */
export const client = createGraphCache()

// Every page but that of the login needs the viewer, so it is queried before the rest of the program runs.
if (location.pathname !== '/login') void client.query(UiViewerDocument, {}, AT_ONCE).toPromise()

// The first rows are queried before the rest of the program runs, its router included.
if (location.pathname === '/chains') beginToRead(client, searchReader('chains')(searchOf(location.search)))

/** Parses the query string as the router does. */
function searchOf(text: string): Record<string, unknown> {
  return Object.fromEntries([...new URLSearchParams(text)].map(([name, value]) => [name, valueOf(value)]))
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
