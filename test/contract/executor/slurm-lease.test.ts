import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLease } from '../../../src/agent/executors/slurm/lease.ts'
import { KEEPER_SCRIPT } from '../../../src/agent/executors/slurm/job-script.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { testLog } from './process-fixture.ts'

async function written(...renewals: number[]): Promise<number[]> {
  const root = await temporaryDirectory('lease')
  const lease = openLease(root, testLog)
  for (const leftMs of renewals) lease.renew(leftMs)
  await lease.close()
  const [counter, , ttl] = readFileSync(join(root, 'lease'), 'utf8').trim().split(' ').map(Number)
  expect(lease.ttlSeconds).toBe(ttl)
  return [counter!, ttl!]
}

test('what the server says while the lease is being written counts as well', async () => {
  expect(await written(600_000, 32_000)).toEqual([2, 12])
})

test('of several words meanwhile the last one counts', async () => {
  expect(await written(600_000, 500_000, 400_000, 32_000)).toEqual([2, 12])
})

test('the same word again is not written again so soon', async () => {
  expect(await written(600_000, 600_000, 600_500)).toEqual([1, 580])
})

test('a fence that is too short leaves the lease as it is', async () => {
  expect(await written(600_000, 20_000)).toEqual([1, 580])
})

// bash evaluates a text in arithmetic, and runs the commands in it; a job's shell may be one.
test.each(['bash', '/bin/sh'])(
  'a keeper in %s takes digits from the lease and the order to stop, and nothing else',
  async (shell) => {
    const root = await temporaryDirectory('keeper')
    const file = (name: string) => join(root, name)
    const planted = `a[$(touch ${file('ran')})]`
    for (const name of ['copy', 'status']) writeFileSync(file(name), '')
    writeFileSync(file('lease'), `2 ${planted} ${planted}\n`)
    writeFileSync(file('stop'), `{"killAt":${planted}}`)
    const victim = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
    const ended = once(victim, 'exit')
    const [up = ''] = readFileSync('/proc/uptime', 'utf8').split('.')
    const given = [file('lease'), root, String(victim.pid), file('copy'), '1', up, '3600', file('status')]
    const keeper = spawn(shell, ['-c', KEEPER_SCRIPT, 'reprise-keeper', ...given], { detached: true, stdio: 'ignore' })
    const keeperEnded = once(keeper, 'exit')
    await eventually(() => readFileSync(file('copy'), 'utf8').includes('touch'))
    // The loop reads the copy as often as it is written: so it has read a forged one after two more.
    const seen = new Set<number>()
    await eventually(() => seen.add(statSync(file('copy')).mtimeMs).size > 2)
    writeFileSync(file('lease'), `3 ${Math.floor(Date.now() / 1_000)} 3600\n`)
    await eventually(() => readFileSync(file('copy'), 'utf8').startsWith('3 '))
    expect(victim.exitCode).toBeNull()
    writeFileSync(file('stop'), '{"killAt":0}')
    expect(await ended).toEqual([null, expect.stringMatching(/^SIG(TERM|KILL)$/)])
    await keeperEnded
    expect(existsSync(file('ran'))).toBe(false)
  },
)
