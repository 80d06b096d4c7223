import { afterAll, beforeAll, expect } from 'vitest'
import { bundleUi } from '../../../scripts/bundle-ui.ts'
import { readUiFiles } from '../../../src/http/ui-files.ts'
import { ROOT } from '../../guard/source-files.ts'
import { logInBrowser } from '../../support/servers/browser-login.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

export type Headers = Record<string, string>

/** Headers that a browser sends with a request that a page of this server makes. */
export const OURS: Headers = { 'sec-fetch-site': 'same-origin' }

/** Starts a server with the web UI for the tests of the file or block, and gives what browsers do with it. */
export function useLoginServer() {
  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer({ ui: await readUiFiles(await bundleUi(ROOT)) })
  })
  afterAll(() => server?.close())

  function ask(method: string, path: string, headers: Headers, body?: string): Promise<Response> {
    return fetch(`${server.url}${path}`, { method, headers, ...(body && { body }) })
  }

  /** The login of a new browser with this token. */
  const logIn = (token: string) => logInBrowser(server.url, `Bearer ${token}`)

  /** The name and role that the server reads from these headers; null for nobody. */
  async function whoAmI(headers: Headers): Promise<string | null> {
    const body = JSON.stringify({ query: '{ viewer { name role } }' })
    const response = await ask('POST', '/graphql', { 'content-type': 'application/json', ...headers }, body)
    const { data } = (await response.json()) as { data?: { viewer: { name: string; role: string } } | null }
    return data ? `${data.viewer.name} ${data.viewer.role}` : null
  }

  async function idOf(token: string): Promise<string> {
    return (await server.query('{ viewer { tokenId } }', {}, token)).data.viewer.tokenId as string
  }

  async function revoke(token: string): Promise<void> {
    const mutation = `mutation ($tokenId: UUID!) { revokeToken(input: { tokenId: $tokenId }) { __typename } }`
    const { data } = await server.query(mutation, { tokenId: await idOf(token) })
    expect(data.revokeToken.__typename).toBe('RevokeTokenPayload')
  }

  return {
    get server() {
      return server
    },
    get port() {
      return new URL(server.url).port
    },
    ask,
    logIn,
    whoAmI,
    idOf,
    revoke,
  }
}
