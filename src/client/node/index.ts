import process from 'node:process'
import { type Client, type ClientOptions, createClientOn } from '../client.ts'
import { createConnectionOn } from '../connection/connection.ts'
import { resolveRetry, resolveTimeouts } from '../settings.ts'
import type { WebSocketClass } from '../streams/event-socket.ts'
import { createFetchTransport } from '../transport/fetch-transport.ts'
import { createNodeTransport } from '../transport/node-transport.ts'
import { readEnvironment } from './environment.ts'
import type { Downloaded, DownloadOptions } from './download-outputs.ts'
import { findServer } from './find-server.ts'
import { profilesPath, readProfiles } from './profiles.ts'

export * from '../exports.ts'
export type { Downloaded, DownloadOptions, DownloadProgress } from './download-outputs.ts'
export { CLIENT_VARIABLES, readEnvironment } from './environment.ts'
export { findServer, type FoundServer } from './find-server.ts'
export { profilesPath, readProfiles, writeProfiles, type Profile, type Profiles } from './profiles.ts'

export interface NodeClientOptions extends ClientOptions {
  /** Name of the stored profile that gives URL and token. */
  profile?: string
  /** Environment variables to use instead of those of the process. */
  environment?: Readonly<Record<string, string | undefined>>
}

export interface NodeClient extends Client {
  /**
   * Downloads the outputs of an attempt into a directory. Continues an interrupted download, and verifies each file.
   * @throws RepriseClientError with the code FAILED for what cannot be written; NotFoundError
   */
  downloadOutputs(sessionId: string, options: DownloadOptions): Promise<Downloaded>
}

/**
 * Creates a client. Without a `url` and a `token` it looks for a server: REPRISE_URL and REPRISE_TOKEN, then the
 * profile, then a server of this machine with the token in its data directory.
 * @throws ClientConfigurationError
 */
export function createClient(options: NodeClientOptions = {}): NodeClient {
  const variables = options.environment ?? process.env
  const environment = readEnvironment(variables, (text) => process.emitWarning(text))
  const stated = { ...options, urls: options.urls ?? (options.url === undefined ? undefined : [options.url]) }
  const { urls, token } = findServer(stated, environment, () => readProfiles(profilesPath(variables)))
  const timeouts = resolveTimeouts(options.timeouts, environment)
  const connection = createConnectionOn({
    urls,
    token,
    retry: resolveRetry(options.retry, environment),
    timeouts,
    transport: options.fetch ? createFetchTransport({ fetch: options.fetch, timeouts }) : createNodeTransport(timeouts),
    webSocket: () => options.webSocket ?? loadWebSocket(),
    onProgress: options.onProgress,
  })
  const client = createClientOn(connection)
  return Object.assign(client, {
    // Loaded when it is needed: most programs download nothing.
    downloadOutputs: async (sessionId: string, wanted: DownloadOptions) =>
      (await import('./download-outputs.ts')).downloadOutputs(client, sessionId, wanted),
  })
}

/**
 * Loads a WebSocket that ignores errors after it was abandoned: a connection that is abandoned while it is being made
 * emits an error, and it no longer has a listener. Most commands need none.
 */
async function loadWebSocket(): Promise<WebSocketClass> {
  const { WebSocket } = await import('ws')
  return class extends WebSocket {
    constructor(url: string, protocols?: string | string[]) {
      super(url, protocols)
      this.on('error', () => {})
    }
  }
}
