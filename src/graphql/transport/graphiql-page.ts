import { createHash } from 'node:crypto'

const SCRIPTS = /<script\b[^>]*>([\s\S]*?)<\/script>/g

/**
 * The page with a policy that lets its own scripts run, by their digests, and no other: what the server sends into it
 * is data. Its styles are made by its scripts; its editor checks documents in workers made from blobs.
 */
export function withScriptPolicy(html: string): string {
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
