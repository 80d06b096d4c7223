import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { HttpStatusError, typeOfCode, type FoundServer } from '../client/node/index.ts'
import { act, describedCommand } from './client-command.ts'
import { UsageError } from './present-error.ts'

const ASK_WITHIN_MS = 10_000
/** Time that a browser may take to start and use its login code. */
const BROWSER_STARTS_WITHIN_MS = 8_000

export function uiCommand(): Command {
  const command = describedCommand('ui', 'open the web UI in a browser, logged in', [
    'reprise ui',
    'reprise ui --no-open    # only print the address, which works once and for a minute',
  ]).option('--no-open', 'print the address, and do not start a browser')
  return act<{ open: boolean }>(command, async ({ server, out, signal }, { open }) => {
    const url = await loginAddress(server)
    const opened = open && mayHaveBrowser()
    out.show({ url, opened }, () =>
      opened
        ? `opening the web UI; if no browser appears, open\n  ${url}`
        : `open this address within a minute; it works once:\n  ${url}`,
    )
    if (opened) await openBrowser(url, signal)
  })
}

/**
 * Creates the address that logs one browser in, once and within a minute, with the rights of the token.
 * @throws UsageError, ApiError, HttpStatusError
 */
export async function loginAddress({ urls, token }: Pick<FoundServer, 'urls' | 'token'>): Promise<string> {
  if (token === undefined) throw new UsageError('The web UI needs a token: run `reprise login`, or give --token.')
  const [server] = urls
  const response = await fetch(new URL('ui/code', server), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(ASK_WITHIN_MS),
  })
  if (response.status === 404) throw new UsageError(`${server!.href} serves no web UI.`)
  const answer = (await response.json().catch(() => ({}))) as { code?: string; detail?: string }
  if (response.status === 200) return new URL(`login#code=${answer.code}`, server).href
  if (answer.detail === undefined)
    throw new HttpStatusError(response.status, `The server responded with ${response.status}`)
  const { code = 'INTERNAL', detail } = answer
  throw new (typeOfCode(code))(code, detail)
}

/** Whether there is a screen. Without one, a browser fails to start, or is not visible. */
function mayHaveBrowser(): boolean {
  const { platform, env } = process
  return platform !== 'linux' || Boolean(env['DISPLAY'] ?? env['WAYLAND_DISPLAY'])
}

/**
 * Opens a temporary page that redirects to the address. The address itself is not an argument of the browser: every
 * user of the machine can read arguments, and could log in with it first.
 */
async function openBrowser(url: string, signal: AbortSignal): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'reprise-ui-'))
  try {
    const page = join(directory, 'open.html')
    const text = `<!doctype html><meta charset="utf-8"><title>Reprise</title><meta http-equiv="refresh" content="0; url=${url}">`
    await writeFile(page, text, { mode: 0o600 })
    const [program, ...args] = opener()
    const browser = spawn(program!, [...args, page], { detached: true, stdio: 'ignore' })
    // The address has been printed.
    browser.on('error', () => {})
    browser.unref()
    await sleep(BROWSER_STARTS_WITHIN_MS, undefined, { signal }).catch(() => {})
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

function opener(): string[] {
  if (process.platform === 'darwin') return ['open']
  return process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
}
