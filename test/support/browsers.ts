import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { createContext, Script } from 'node:vm'
import { rolldown } from 'rolldown'
import { startFaultProxy } from './agents/fault-proxy.ts'

/** Bundles the installed package's browser entry with its dependencies into a script that defines `reprise`. */
export async function bundleForBrowsers(directory: string): Promise<string> {
  const input = join(directory, 'bundle-entry.mjs')
  await writeFile(input, `export * from 'reprise/client'\n`)
  await using build = await rolldown({ input, platform: 'browser', logLevel: 'warn' })
  const { output } = await build.generate({ format: 'iife', name: 'reprise' })
  if (output[0].imports.length > 0) throw new Error(`imports ${output[0].imports.join(', ')}, which no browser has`)
  return output[0].code
}

/** `story` is the body of an async function that has `createClient`, and returns text. */
const program = (bundle: string, story: string) => `${bundle};
(async ({ createClient }) => { ${story} })(reprise)`

/** Runs it with what the web platform has and nothing else: no `process`, no `require`, no `Buffer`. */
export async function runInBareContext(bundle: string, story: string): Promise<string> {
  const { fetch, WebSocket, AbortController, AbortSignal, URL, TextDecoder, TextEncoder, DOMException } = globalThis
  const { setTimeout, clearTimeout, crypto, performance, console } = globalThis
  const web = { fetch, WebSocket, AbortController, AbortSignal, URL, TextDecoder, TextEncoder, DOMException }
  const context = createContext({ ...web, setTimeout, clearTimeout, crypto, performance, console })
  return (await new Script(program(bundle, story)).runInContext(context)) as Promise<string>
}

export function findChromium(): string | undefined {
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  const paths = (process.env['PATH'] ?? '').split(delimiter).flatMap((part) => names.map((name) => join(part, name)))
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** The server allows no other origin, so page and API share one, through a proxy. */
export async function runInChromium(options: {
  bundle: string
  story: (url: string) => string
  target: string
  /** Directory of the browser's profile. */
  directory: string
}): Promise<string> {
  const outcome = Promise.withResolvers<string>()
  const page = (path: string, body: string) => {
    if (path === '/page') return { type: 'text/html', text: `<meta charset="utf-8"><script src="/page.js"></script>` }
    if (path === '/page.js') return { type: 'text/javascript', text: script }
    if (path !== '/outcome') return undefined
    outcome.resolve(body)
    return { type: 'text/plain', text: '' }
  }
  const proxy = await startFaultProxy(options.target, { page })
  const tell = `const tell = (body) => fetch('/outcome', { method: 'POST', body })`
  const script = `${tell};${program(options.bundle, options.story(proxy.url))}.then(tell, (error) => tell(String(error)))`
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${options.directory}`]
  const browser = spawn(findChromium()!, [...flags, `${proxy.url}/page`], { stdio: 'ignore', detached: true })
  try {
    return await outcome.promise
  } finally {
    process.kill(-browser.pid!, 'SIGKILL')
    await proxy.close()
  }
}
