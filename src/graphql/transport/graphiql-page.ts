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

/**
 * Renders the page of GraphiQL. This takes a second and 60 MB of memory, so it is done once, when the web UI is
 * bundled.
 */
export async function renderGraphiQLPage(): Promise<string> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const page = renderGraphiQL({
    title: 'Reprise',
    subscriptionsProtocol: 'WS',
    headers: JSON.stringify({ authorization: 'Bearer ' }),
    defaultQuery: GREETING,
    // The headers hold a token.
    shouldPersistHeaders: false,
  })
  return withScriptPolicy(page)
}

/**
 * Adds a content security policy that allows only the page's own scripts, by their digests, so that data from the
 * server cannot run as a script. The scripts create styles, and workers from blobs for the editor.
 */
function withScriptPolicy(html: string): string {
  // Browsers convert line ends to line feeds before they compare digests.
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
