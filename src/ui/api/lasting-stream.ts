import type { TypedDocumentNode } from '@urql/core'
import type { OnProgress } from '../../client/settings.ts'
import { browserKey } from './browser-key.ts'
import { connection } from './connection.ts'
import { isUnauthenticated } from './problem.ts'
import { session } from './session.ts'

interface Options {
  signal: AbortSignal
  onProgress?: OnProgress
  /** Nobody is logged in any more: it goes on once somebody is. */
  onGone?: (error: unknown) => void
}

/** A subscription that also goes on where it was after another login. */
export async function* lastingStream<
  Data extends Record<string, { cursor: string }>,
  Variables extends { after?: string | null | undefined },
>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  { signal, onProgress, onGone }: Options,
): AsyncGenerator<Data, void, void> {
  let { after } = variables
  for (;;) {
    const key = browserKey()
    try {
      const stream = connection.stream(document, { ...variables, after }, { signal, ...(onProgress && { onProgress }) })
      for await (const data of stream) {
        after = Object.values(data)[0]!.cursor
        yield data
      }
      return
    } catch (error) {
      signal.throwIfAborted()
      if (!isUnauthenticated(error)) throw error
      // Another tab has logged in meanwhile.
      if (key !== browserKey()) continue
      session.set('gone')
      onGone?.(error)
      await loggedIn(signal)
    }
  }
}

function loggedIn(signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const leave = session.subscribe(() => session.get() === 'known' && resolve())
  signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  return promise.finally(leave)
}
