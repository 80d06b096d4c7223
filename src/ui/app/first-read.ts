import { createGraphCache } from '../api/cache.ts'
import { UiViewerDocument } from './viewer.generated.ts'

/** Of all pages. */
export const client = createGraphCache()

// Every page but one waits for who is looking: it is asked before the rest of the program is run.
if (location.pathname !== '/login') void client.query(UiViewerDocument, {}).toPromise()
