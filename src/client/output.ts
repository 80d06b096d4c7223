import { allPages } from './answers.ts'
import type { CallOptions, Connection } from './connection/connection.ts'
import { eventOperations } from './event.ts'
import {
  ChainOutputsDocument,
  type ChainOutputsQuery,
  OutputFilesDocument,
  type OutputFilesQuery,
} from './operations.generated.ts'
import { gone, isOver } from './session.ts'
import { closeable } from './streams/closeable.ts'
import { watchChanges } from './streams/watch-changes.ts'

type OutputsOfChain = NonNullable<ChainOutputsQuery['session']>

/** An attempt of a chain, with the state of its outputs; null if it has none. */
export type AttemptOutputs = OutputsOfChain['retryChain'][number]
export type Outputs = NonNullable<AttemptOutputs['outputs']>
export type OutputFile = NonNullable<
  NonNullable<OutputFilesQuery['session']>['outputs']
>['files']['edges'][number]['node']

/** Whether nothing more is expected, for now. */
export function areSettled({ state }: Pick<Outputs, 'state'>): boolean {
  return state !== 'WAITING' && state !== 'COLLECTING'
}

const NO_FILES = { edges: [], pageInfo: { hasNextPage: false, endCursor: null } }

export function outputOperations(connection: Connection) {
  const { request } = connection

  /** Returns the name of a session, and the outputs of all attempts of its chain, oldest first. @throws NotFoundError */
  async function chainOutputs(
    sessionId: string,
    options?: CallOptions,
  ): Promise<{ name: string; attempts: AttemptOutputs[] }> {
    const { session } = await request(ChainOutputsDocument, { id: sessionId }, options)
    if (!session) return gone(sessionId)
    return { name: session.name, attempts: session.retryChain }
  }

  async function* watch(sessionId: string, options: CallOptions & { signal: AbortSignal }) {
    const { sessionEvents, eventCursor } = eventOperations(connection)
    yield* watchChanges<AttemptOutputs>({
      cursor: () => eventCursor(options),
      read: async () => {
        const { attempts } = await chainOutputs(sessionId, options)
        return attempts.find((attempt) => attempt.sessionId === sessionId) ?? gone(sessionId)
      },
      events: (after) => sessionEvents({ sessionId }, { ...options, after }),
      isLast: ({ outputs, status }) => (outputs === null ? isOver({ status }) : areSettled(outputs)),
      signal: options.signal,
    })
  }

  return {
    chainOutputs,

    /**
     * Waits until an attempt has ended and its outputs are settled, and returns them; null if it has none.
     * @throws NotFoundError, the signal's reason
     */
    async waitForOutputs(sessionId: string, options: CallOptions = {}): Promise<Outputs | null> {
      let last: AttemptOutputs | undefined
      const changes = closeable([connection.closed, options.signal], (signal) =>
        watch(sessionId, { ...options, signal }),
      )
      for await (last of changes);
      return last?.outputs ?? null
    },

    /** Lists the files of an attempt's outputs, in the order of their paths; none if it has no outputs. @throws NotFoundError */
    outputFiles(sessionId: string, { match, ...options }: { match?: string | undefined } & CallOptions = {}) {
      return allPages(async (page) => {
        const { session } = await request(OutputFilesDocument, { id: sessionId, match, ...page }, options)
        return session ? (session.outputs?.files ?? NO_FILES) : gone(sessionId)
      })
    },

    /**
     * Reads a file of an attempt's outputs, from an offset on, and hands its bytes to `write`.
     * @throws NotFoundError; errors of `write`; the signal's reason
     */
    readOutputFile(
      sessionId: string,
      { path, sha256 }: Pick<OutputFile, 'path' | 'sha256'>,
      write: (chunk: Uint8Array) => Promise<void>,
      { from = 0, ...options }: { from?: number } & CallOptions = {},
    ): Promise<void> {
      const named = path.split('/').map(encodeURIComponent).join('/')
      const file = { name: 'downloadOutputFile', path: `v2/sessions/${sessionId}/outputs/files/${named}`, from }
      return connection.download({ ...file, etag: `"${sha256}"` }, write, options)
    },
  }
}
