/** The isolation of an agent is decided once, and never becomes weaker by itself. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { decideIsolation } from '../../../src/agent/executors/process/isolation/decide-isolation.ts'
import { IsolationUndecidedError } from '../../../src/agent/executors/process/isolation/isolation.ts'
import type { IsolationMode } from '../../../src/agent/executors/process/isolation/isolation.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

const mounts: string[] = []
afterEach(() => {
  for (const path of mounts.splice(0)) execFileSync('umount', ['--lazy', path])
})

const decide = (agentDir: string, mode: IsolationMode = 'auto') =>
  decideIsolation({ mode, dataDir: agentDir, agentDir, hide: [] })
const recordIn = (agentDir: string) => JSON.parse(readFileSync(join(agentDir, 'isolation.json'), 'utf8')) as object

/** Records the decision of an agent whose machine could do more than this one. */
function hadBetter(agentDir: string): void {
  const way = { by: 'bubblewrap', withUids: process.getuid!() !== 0 }
  writeFileSync(join(agentDir, 'isolation.json'), JSON.stringify({ name: 'namespaces+user', way }))
}

test('is kept on disk, and found again', async () => {
  const agentDir = await temporaryDirectory('decided')
  const first = await decide(agentDir)
  expect(first.guard).toBeUndefined()
  expect(recordIn(agentDir)).toMatchObject({ name: first.name })
  expect(await decide(agentDir)).toMatchObject({ name: first.name })
})

test('where less works than before, new kernels are refused with a reason, and the record stays', async () => {
  const agentDir = await temporaryDirectory('decided')
  await decide(agentDir, 'none')
  expect(recordIn(agentDir)).toMatchObject({ name: 'none' })
  hadBetter(agentDir)
  const { name, guard } = await decide(agentDir, 'auto')
  // A machine that can do as much finds nothing wrong.
  if (guard === undefined) return expect(name).toBe('namespaces+user')
  const told: (string | null)[] = []
  guard((reason) => told.push(reason)).close()
  expect(told[0]).toMatch(
    /^its kernels were isolated by namespaces\+user, which does not work now .*REPRISE_ISOLATION=/,
  )
  expect(recordIn(agentDir)).toMatchObject({ name: 'namespaces+user' })
})

test('a person who configures a weaker one has decided so', async () => {
  const agentDir = await temporaryDirectory('decided')
  hadBetter(agentDir)
  const decided = await decide(agentDir, 'none')
  expect([decided.name, decided.guard]).toEqual(['none', undefined])
  expect(recordIn(agentDir)).toMatchObject({ name: 'none' })
})

const isRoot = process.getuid!() === 0

describe.skipIf(!isRoot)(`on a full disk${isRoot ? '' : ' (skipped: only root may mount)'}`, () => {
  async function smallDisk(): Promise<string> {
    const path = await temporaryDirectory('full')
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,nr_inodes=32', 'reprise-test', path])
    mounts.push(path)
    return path
  }
  /** No further file can be made. */
  function fill(path: string): string[] {
    const made: string[] = []
    for (;;) {
      const file = join(path, `filler${made.length}`)
      try {
        writeFileSync(file, '')
        made.push(file)
      } catch {
        return made
      }
    }
  }
  const empty = (files: readonly string[]) => execFileSync('rm', [...files])

  test('nothing is decided at the first start', async () => {
    const agentDir = await smallDisk()
    const filler = fill(agentDir)
    await expect(decide(agentDir)).rejects.toThrow(IsolationUndecidedError)
    empty(filler)
    expect((await decide(agentDir)).guard).toBeUndefined()
  })

  test('the decision stays: kernels are refused until there is space', async () => {
    const agentDir = await smallDisk()
    const { name } = await decide(agentDir)
    const filler = fill(agentDir)
    const later = await decide(agentDir)
    if (name === 'none') return expect([later.name, later.guard]).toEqual([name, undefined])
    expect(later).toMatchObject({ name })
    const told: (string | null)[] = []
    const guard = later.guard!((reason) => told.push(reason))
    expect(told[0]).toMatch(/ENOSPC|No space left/)
    empty(filler)
    await eventually(() => told.at(-1) === null, { withinMs: 120_000 })
    guard.close()
  })
})
