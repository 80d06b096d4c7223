import { createClient } from '../../../src/client/node/index.ts'
import { pause } from '../eventually.ts'

/**
 * Starts one of every kind of waiting call against the given server, ends them all with one signal, and then has
 * nothing left to do. A handle that keeps the process alive, or an unhandled rejection, is visible from outside.
 */
const [url, token, sessionId] = process.argv.slice(2) as [string, string, string]
const ended = new AbortController()
const { signal } = ended
const client = createClient({ url, token, retry: { network: { minSeconds: 30, multiplierSeconds: 30 } } })

const waiting = {
  request: client.session(sessionId, { signal }),
  events: client.retryEvents({}, { signal }).next(),
  resumed: client.sessionEvents({ types: ['RETRY_HELD'] }, { signal, after: await client.eventCursor() }).next(),
  suspended: client.sessionEvents({}, { signal, after: 'MDow' }).next(),
  logs: drain(client.chainLogs(sessionId, { signal })),
  chain: client.waitForChain(sessionId, { signal }),
  refused: createClient({ url: 'http://127.0.0.1:1', token }).retrySwitches({ signal }),
}
const outcomes = Promise.all(
  Object.entries(waiting).map(async ([name, promise]) => {
    const outcome = await promise.then(
      () => 'done',
      (error: unknown) => (error === signal.reason ? 'aborted' : String(error)),
    )
    return `${name} ${outcome}`
  }),
)
await Promise.all([waiting.request, waiting.suspended])
await pause(500)
const since = performance.now()
ended.abort()
console.log(JSON.stringify({ outcomes: await outcomes, ms: performance.now() - since }))

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of items);
}
