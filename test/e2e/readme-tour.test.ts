import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { KERNEL_VARIABLES } from '../../src/domain/session/kernel-environment.ts'
import { ROOT } from '../guard/source-files.ts'
import { cleanEnvironment, startCommand } from '../support/programs/command-line.ts'
import { blocksOfTest, type DocumentBlock } from '../support/document-blocks.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { readdirSync } from 'node:fs'
import { findLeftovers, heapFlags } from '../../src/cli/demo/server-process.ts'
import { CTRL_C, PSEUDO_TERMINAL, startInTerminal } from '../support/programs/pseudo-terminal.ts'
import { logInBrowser } from '../support/servers/browser-login.ts'
import { eventually, pause } from '../support/eventually.ts'

// The tour and the demos run beside each other: each owns all that it starts, and waits much of its time.
describe.concurrent('readme tour', async () => {
  /** Runs the commands of the README and docs/ in their order, against a server started by `npm start`. */

  const run = promisify(execFile)
  const README_URL = 'http://127.0.0.1:4000'
  /** What `npx reprise` comes to. The tour's first commands go through npx itself, which takes a second for each. */
  const NPX = 'npx() { shift; node bin/reprise.mjs "$@"; }'

  const all = await blocksOfTest('test/e2e/readme-tour.test.ts')

  function blocks(page: string): DocumentBlock[] {
    return all.filter((block) => block.page === page)
  }

  async function npmStart(environment: NodeJS.ProcessEnv) {
    const child = spawn('npm', ['start'], { cwd: ROOT, env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
    const exited = once(child, 'exit')
    const lines: string[] = []
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      const url = /^reprise ready (\S+)$/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
    createInterface({ input: child.stderr }).on('line', (line) => lines.push(line))
    void exited.then(() => reject(new Error(`npm start ended:\n${lines.join('\n')}`)))
    return {
      url: await promise,
      lines,
      async stop() {
        child.kill('SIGTERM')
        await exited
      },
    }
  }

  /** Of a line what is the same each time: one retry delay in 500 has no jitter, and does not speak of it. */
  function shape(line: string): string {
    return line
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
      .replaceAll(/rpr_\S+/g, 'TOKEN')
      .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'URL')
      .replace(/kept in \S+/, 'kept in FILE')
      .replace(/waits .*/, 'waits DELAY')
      .replace(/next attempt .*, at .*/, 'next attempt WHEN')
      .replaceAll(/\d+\.\d+/g, 'N')
      .replaceAll(/─+$/g, '')
  }

  test('the tour of the README, and what docs/ adds to it, works as written', { concurrent: false }, async () => {
    const tour = blocks('README.md')
    const [start, started, first, firstOutput, ...rest] = tour
    expect(start).toMatchObject({ language: 'sh', text: 'npm start\n' })
    expect(rest.map(({ language }) => language)).toEqual(['sh', 'sh', 'sh', 'sh'])
    const dataDir = join(await temporaryDirectory('tour'), 'data')
    const environment = { REPRISE_DATA_DIR: dataDir, REPRISE_PORT: '0', XDG_CONFIG_HOME: dataDir }
    const server = await npmStart(cleanEnvironment(environment))
    try {
      const printed = server.lines.map(shape)
      const [token, ...others] = started!.text.trim().split('\n')
      for (const line of others) expect(printed).toContain(shape(line))
      // It is printed on terminals only.
      expect(token).toBe('admin token, shown once: rpr_…')
      expect(server.lines.join('\n')).not.toContain('rpr_')

      const env = cleanEnvironment({ ...environment, REPRISE_URL: server.url })
      const type = async (text: string, npx = NPX): Promise<string> => {
        const here = text.replaceAll(README_URL, server.url).replaceAll('.reprise/', `${dataDir}/`)
        return (await run('bash', ['-ec', `exec 2>&1\n${npx}\n${here}`], { cwd: ROOT, env })).stdout
      }
      const printedByRun = (await type(first!.text, '')).split('\n').map(shape)
      const expected = firstOutput!.text.trim().split('\n').map(shape)
      expect(expected.pop()).toBe('…')
      expect(printedByRun.filter((line) => !line.startsWith('npm ')).slice(0, expected.length)).toEqual(expected)
      expect(printedByRun).toContain('── attempt 3 succeeded')

      const out = await temporaryDirectory('out')
      const [looked, brought, resubmitted, checked] = [
        await type(rest[0]!.text),
        await type(rest[1]!.text.replaceAll(/\bout\b(?=[/\n])/g, out)),
        await type(rest[2]!.text),
        await type(rest[3]!.text),
      ]
      expect(brought).toMatch(/1 file, 8 B of attempt 1 in \S+\n2 3 5 7\n$/)
      expect(looked).toMatch(/attempt +3 · retry 2 of 3[^]*└─ 3 .*succeeded[^]*\nattempt 1 of 4\n$/)
      expect(resubmitted).toMatch(/ended with 1\n[^]*1 chain resubmitted[^]*└─ 2 .*succeeded/)
      expect(checked).toMatch(/\n +5 +8 m .*█[^]*no problems\n$/)

      const typeAll = (page: string) =>
        type(
          blocks(page)
            .map(({ text }) => text)
            .join('\n'),
        )
      const answers = await typeAll('docs/graphql.md')
      expect(answers).toContain('"label":"attempt 3 of 4"')
      expect(answers).not.toContain('"errors"')

      const overRest = await typeAll('docs/rest.md')
      expect(overRest.match(/^\d{3}$/gm)).toEqual(['201', '200', '200', '200', '404'])
      expect(overRest).toMatch(/"name":"tour"[^]*"code":"SESSION_NOT_FOUND"/)

      const looking = await typeAll('docs/troubleshooting.md')
      expect(looking).toMatch(/no problems\n\{"status":"ready"/)
      expect(looking).toMatch(/attempt +3 · retry 2 of 3/)

      const shown = await typeAll('docs/command-line.md')
      expect(shown).toMatch(/\nended with 64\n[^]*"name": ?"bulk"[^]*picky/)

      const told = await typeAll('docs/executors.md')
      // Machines without GPUs set all of them but this one.
      const { REPRISE_GPUS: _, ...everywhere } = KERNEL_VARIABLES
      expect(Object.keys(everywhere).filter((name) => !told.includes(`\n${name}=`))).toEqual([])
      expect(told).toContain('\nREPRISE_MAX_ATTEMPTS=3\n')
      expect(told).toMatch(/\n2 threads, until \d{4}-\S+Z\n/)
      expect(await typeAll('docs/scheduling.md')).toMatch(/default[^]*cpu/)
      expect(await typeAll('docs/operation.md')).toMatch(/CLUSTER .*held[^]*are on\n$/)
      expect(await typeAll('docs/security.md')).toMatch(/rpr_[^]*ci [^]*token\.create/)

      const followed = await typeAll('docs/subscriptions.md')
      expect(followed.match(/RETRY_\w+/g)).toEqual(['RETRY_SCHEDULED', 'RETRY_DISPATCHED', 'RETRY_SUCCEEDED'])

      const [served, discovered, ...more] = blocks('docs/deployments.md')
      expect(more).toEqual([])
      const replicas = await type(served!.text)
      expect(replicas).toMatch(/web: READY, 2 of 2 healthy, revision 1\n[^]*healthy +2 of 2\n/)
      expect(replicas).toMatch(/web: READY, 2 of 2 healthy, revision 2\n[^]*web: READY, 1 of 1 healthy, revision 2\n$/)
      const found = await type(discovered!.text)
      expect(found).toContain('"deployment":"web"')
      expect(found).toMatch(
        /"web\.default":\{"loadBalancer":\{"passHostHeader":true,"servers":\[\{"url":"http:[^"]+:\d+"/,
      )
      expect(found).toMatch(/web: DESTROYED/)
    } finally {
      await server.stop()
    }
  })
})

describe.concurrent('demo', () => {
  /** The demo checks itself; these tests check its exit status and its output. */
  test('the demo succeeds', { concurrent: false }, async () => {
    const main = join(import.meta.dirname, '../../bin/reprise.mjs')
    const cwd = await temporaryDirectory('user')
    const child = spawn(process.execPath, [...heapFlags(), main, 'demo'], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
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
    expect(await readFile(join(cwd, 'primes.txt'), 'utf8')).toBe('216816 primes below 3000000\n')
  })

  test('--stay keeps the server until Ctrl-C, which leaves nothing behind', { concurrent: false }, async () => {
    const { child, output, ended } = startCommand(['demo', '--stay'], {}, undefined, await temporaryDirectory('user'))
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
  ])('Ctrl-C while %s ends it soon, and leaves nothing behind', { concurrent: false }, async (_when, seen, pauseMs) => {
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
})
