import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findLeftovers, heapFlags } from '../../src/cli/demo/server-process.ts'
import { CTRL_C, PSEUDO_TERMINAL, startInTerminal } from '../support/programs/pseudo-terminal.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { startCommand } from '../support/programs/command-line.ts'
import { logInBrowser } from '../support/servers/browser-login.ts'
import { eventually, pause } from '../support/eventually.ts'

/** What newcomers run first. It checks itself; here its exit status counts, and that it shows what it is about. */
test('the demo ends well', async () => {
  const main = join(import.meta.dirname, '../../bin/reprise.mjs')
  const child = spawn(process.execPath, [...heapFlags(), main, 'demo'], { stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const [status] = (await once(child, 'close')) as [number | null]
  const text = Buffer.concat(output).toString()
  expect(text).toMatch(/http:\/\/127\.0\.0\.1:\d+\/login#code=rpr_/)
  expect(text).toMatch(/RETRY_SUCCEEDED primes/)
  expect(text).toMatch(/RETRY_EXHAUSTED hopeless/)
  expect(text).toMatch(/survivor: attempt 1 SUCCEEDED exit 0/)
  expect(text).toMatch(/killed with SIGKILL/)
  expect(text).toMatch(/What to do next:\n {2}npm start /)
  expect({ status, text }).toMatchObject({ status: 0 })
})

test('with --stay its server can be looked at until Ctrl-C, which leaves nothing behind', async () => {
  const { child, output, ended } = startCommand(['demo', '--stay'], {})
  const last = await eventually(
    () => /stays until you press Ctrl-C/.test(output.stdout) && addressesIn(output.stdout).at(-1),
    {
      withinMs: 240_000,
    },
  )
  const [address, code] = last.split('/login#code=')
  const { headers } = await logInBrowser(address!, `Code ${code}`)
  const listed = await fetch(`${address}/v2/sessions?name=primes`, { headers })
  expect(listed.status).toBe(200)
  expect(await (await fetch(`${address}/chains`)).text()).toContain('<div id="root">')
  child.kill('SIGINT')
  const { status, stdout } = await ended
  expect({ status, stdout }).toMatchObject({ status: 0 })
  await expect(fetch(`${address}/healthz`)).rejects.toThrow('fetch failed')
})

/** Each with the last that is seen before Ctrl-C. */
test.skipIf(!PSEUDO_TERMINAL).each<[string, RegExp | null, number]>([
  ['its server starts', null, 1_500],
  ['sessions run', /submitted survivor/, 500],
  ['its server is dead', /killed with SIGKILL/, 0],
  ['its server starts again', /killed with SIGKILL/, 1_400],
])('Ctrl-C while %s ends it soon, and leaves nothing behind', async (_when, seen, pauseMs) => {
  const TMPDIR = await temporaryDirectory('demo')
  const run = startInTerminal(['demo'], { columns: 80, environment: { TMPDIR, NO_COLOR: '1' } })
  const begun = () => (seen === null ? readdirSync(TMPDIR).length > 0 : seen.test(run.seen.text))
  await eventually(begun, { withinMs: 120_000 })
  await pause(pauseMs)
  const pressedAt = performance.now()
  run.press(CTRL_C)
  const { status, text } = await run.ended
  expect({ status, text }).toMatchObject({ status: 130 })
  // Long before it would have ended by itself.
  expect(performance.now() - pressedAt).toBeLessThan(20_000)
  expect(text).toContain('interrupted: everything has been stopped and removed')
  await eventually(async () => (await findLeftovers(TMPDIR)).length === 0)
  expect(readdirSync(TMPDIR)).toEqual([])
  const wide = text.split('\r\n').filter((line) => line.length > 80 && !/^ {2}http:/.test(line))
  expect(wide).toEqual([])
})

function addressesIn(text: string): string[] {
  return text.match(/http:\/\/127\.0\.0\.1:\d+\/login#code=\S+/g) ?? []
}
