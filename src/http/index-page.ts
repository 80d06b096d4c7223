const HOW_TO_BUNDLE = `<p>This server has no web UI: it has not been bundled. <code>npm start</code> does so, and says why if it cannot.</p>
`

/** Tells people who open the address of a server without a web UI where things are. */
export function indexPage(isUnbundled: boolean): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Reprise</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }</style>
<h1>Reprise</h1>
<p>Compute sessions that retry themselves.</p>
${isUnbundled ? HOW_TO_BUNDLE : ''}<ul>
  <li><a href="/graphql">/graphql</a>: GraphiQL in a browser; GraphQL over HTTP, server-sent events and graphql-ws for programs</li>
  <li><a href="/v2/openapi.json">/v2</a>: the same as JSON over HTTP, as an OpenAPI document</li>
  <li><a href="/healthz">/healthz</a>: whether the process runs</li>
  <li><a href="/readyz">/readyz</a>: whether it can work</li>
  <li>/metrics: what it does and has done, for Prometheus</li>
</ul>
<p>Requests carry <code>Authorization: Bearer …</code>. The first token stands in the file
<code>admin-token</code> of the server's data directory.</p>
`
}
