import type { TestServer } from './graphql-server.ts'

export interface RestAnswer {
  status: number
  headers: Headers
  // Answers are read by tests that know what they asked for.
  body: any
}

/** Asks a server for JSON. */
export async function askRest(
  server: Pick<TestServer, 'url' | 'adminToken'>,
  method: string,
  path: string,
  { body, token = server.adminToken }: { body?: object; token?: string } = {},
): Promise<RestAnswer> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}
