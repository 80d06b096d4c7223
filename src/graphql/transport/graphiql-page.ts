import { createHash } from 'node:crypto'

const SCRIPTS = /<script\b[^>]*>([\s\S]*?)<\/script>/g

const GREETING = `# Put the token of the data directory's file "admin-token" into the headers below.
{
  sessions(first: 10) {
    totalCount
    edges {
      node {
        name
        status
        retryState {
          label
          phase
          reason
        }
      }
    }
  }
}
`

/** The page of GraphiQL. Takes a second and 60 MB of memory: it is made once, where the web UI is bundled. */
export async function renderGraphiQLPage(): Promise<string> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const page = renderGraphiQL({
    title: 'Reprise',
    subscriptionsProtocol: 'WS',
    headers: JSON.stringify({ authorization: 'Bearer ' }),
    defaultQuery: GREETING,
    // They hold a token.
    shouldPersistHeaders: false,
  })
  return withScriptPolicy(page)
}

/**
 * The page with a policy that lets its own scripts run, by their digests, and no other: what the server sends into it
 * is data. Its styles are made by its scripts; its editor checks documents in workers made from blobs.
 */
function withScriptPolicy(html: string): string {
  // Browsers read line ends as line feeds before they compare.
  const texts = [...html.matchAll(SCRIPTS)].map(([, text]) => text!.replaceAll(/\r\n?/g, '\n'))
  const digests = texts.map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`)
  const policy = [
    "default-src 'none'",
    `script-src ${[...new Set(digests)].join(' ')}`,
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    'font-src data:',
    "connect-src 'self' ws: wss:",
    'worker-src blob: data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  return html.replace('<head>', `<head>\n      <meta http-equiv="Content-Security-Policy" content="${policy}" />`)
}
