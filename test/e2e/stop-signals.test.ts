import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { findLeftovers, heapFlags, startServer } from '../../src/cli/demo/server-process.ts'
import { cleanEnvironment, MAIN } from '../support/programs/command-line.ts'
import { copyPreparedCluster } from '../support/database/prepared-cluster.ts'
import { CTRL_C, PSEUDO_TERMINAL, startInTerminal } from '../support/programs/pseudo-terminal.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/**
 * A terminal sends Ctrl-C to all processes of its foreground group, a supervisor sends SIGTERM to all of a group, and
 * npm forwards what it receives: the program gets each signal twice, any time apart.
 */

const WITHIN = { timeout: 120_000, interval: 20 }
const FORWARDER = join(import.meta.dirname, '../support/programs/forward-signals.mjs')

type Signal = 'SIGINT' | 'SIGTERM'

/** Starts a command under a parent that forwards signals, in a terminal. */
function startForwarded(args: readonly string[], delayUs: number, environment: Record<string, string>) {
  const words = [FORWARDER, String(delayUs), process.execPath, ...heapFlags(), MAIN, ...args]
  return startInTerminal(words, { columns: 200, environment, main: [] })
}

type Started = ReturnType<typeof startForwarded>

function send(signal: Signal, { press, seen }: Started): void {
  if (signal === 'SIGINT') press(CTRL_C)
  else process.kill(-Number(/group (\d+)/.exec(seen.text)![1]), signal)
}

/** The second signal comes from at once to 2 ms later; each of the two runs has its own data. */
const TRIES: { signal: Signal; delayUs: number; run: number }[] = Array.from({ length: 14 }, (_, n) => ({
  signal: n % 2 === 0 ? 'SIGINT' : 'SIGTERM',
  delayUs: Math.floor(n / 2) ** 2 * 56,
  run: Math.floor(n / 2) % 2,
}))

describe.skipIf(!PSEUDO_TERMINAL)('a signal that comes twice', () => {
  test('stops the server as one does, each of 14 times', { timeout: 600_000 }, async () => {
    const root = await temporaryDirectory('signals')
    const runs = [0, 1].map(async (run) => {
      const dataDir = join(root, `data-${run}`)
      await mkdir(dataDir)
      await copyPreparedCluster(join(dataDir, 'postgres'))
      for (const { signal, delayUs } of TRIES.filter((each) => each.run === run)) {
        const started = startForwarded(['serve'], delayUs, { REPRISE_DATA_DIR: dataDir, REPRISE_PORT: '0' })
        await vi.waitFor(() => expect(started.seen.text).toMatch(/reprise ready http/), WITHIN)
        send(signal, started)
        const { status, text } = await started.ended
        const left = await findLeftovers(dataDir)
        expect({ signal, delayUs, status, left, text }).toEqual({ signal, delayUs, status: 0, left: [], text })
      }
    })
    await Promise.all(runs)
  })

  test('stops an agent', async () => {
    const root = await temporaryDirectory('signals')
    const [dataDir, agentDir] = [join(root, 'server'), join(root, 'agent')]
    await mkdir(dataDir)
    await copyPreparedCluster(join(dataDir, 'postgres'))
    const server = await startServer({ dataDir, port: 0, onLog: () => {}, env: { REPRISE_ROLES: 'api' } })
    const token = ['--token-file', join(dataDir, 'admin-token')]
    for (const { signal, delayUs } of TRIES.filter((_, n) => n % 3 === 0)) {
      const args = ['agent', '--server', server.url, ...token, '--data-dir', agentDir]
      const started = startForwarded(args, delayUs, {})
      await vi.waitFor(() => expect(started.seen.text).toMatch(/reprise agent ready/), WITHIN)
      send(signal, started)
      const { status, text } = await started.ended
      const left = await findLeftovers(agentDir)
      expect({ signal, delayUs, status, left, text }).toEqual({ signal, delayUs, status: 0, left: [], text })
    }
    expect(await server.stop()).toBe(0)
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('stops the demo and all that it has started: %s', async (signal) => {
    const started = startForwarded(['demo'], 200, {})
    await vi.waitFor(() => expect(started.seen.text).toMatch(/submitted/), WITHIN)
    send(signal, started)
    const { status, text } = await started.ended
    const dataDir = / data in (\S+)/.exec(text)![1]!
    const left = await findLeftovers(dataDir)
    expect({ status, left, there: existsSync(dataDir), text }).toEqual({ status: 130, left: [], there: false, text })
  })
})

test('signals that go on coming do not kill an agent that is about to end', async () => {
  const args = ['agent', '--server', 'http://127.0.0.1:1', '--token', 'none', '--executor', 'noop', '--data-dir']
  for (let run = 0; run < 5; run++) {
    const directory = await temporaryDirectory('signals')
    const env = cleanEnvironment({})
    const agent = spawn(process.execPath, [...heapFlags(), MAIN, ...args, directory], { env, stdio: 'pipe' })
    let log = ''
    agent.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
    await vi.waitFor(() => expect(log).toContain('no answer from the server'), WITHIN)
    const ended = once(agent, 'close')
    // Later ones are meant to kill.
    const until = performance.now() + 1_500
    while (agent.exitCode === null && agent.signalCode === null && performance.now() < until) {
      agent.kill('SIGINT')
      await nextTurn()
    }
    expect({ ended: await ended, log }).toEqual({ ended: [0, null], log })
  }
})
