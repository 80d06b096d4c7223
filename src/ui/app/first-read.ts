import { createGraphCache } from '../api/cache.ts'
import { AT_ONCE } from '../api/exchange.ts'
import { UiViewerDocument } from './viewer.generated.ts'

/** Of all pages. */
export const client = createGraphCache()

// Every page but one waits for who is looking: it is asked before the rest of the program is run.
if (location.pathname !== '/login') void client.query(UiViewerDocument, {}, AT_ONCE).toPromise()
