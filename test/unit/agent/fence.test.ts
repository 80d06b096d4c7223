import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { uptimeSeconds } from '../../../src/agent/executors/process/proc-stat.ts'
import { createFence } from '../../../src/agent/fence.ts'

const directory = mkdtempSync(join(tmpdir(), 'reprise-fence-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe.skipIf(process.platform !== 'linux')('the fence of an agent', () => {
  test('has passed for an answer that comes too late, though no timer has run since', () => {
    let passed = 0
    const fence = createFence(directory, () => passed++)
    // As in a machine that was suspended: the request was sent long ago.
    fence.renew(uptimeSeconds() - 100, 10_000)
    expect(passed).toBe(0)
    fence.renew(uptimeSeconds(), 10_000)
    expect(passed).toBe(1)
    fence.renew(uptimeSeconds(), 10_000)
    expect(passed).toBe(1)
    fence.close()
  })

  test('is in the file for whoever comes after, and no restart extends it', () => {
    const fence = createFence(directory, () => undefined)
    const now = uptimeSeconds()
    fence.renew(now, 600_000)
    fence.close()
    const written = Number(readFileSync(join(directory, 'fence'), 'latin1').split(' ')[0])
    expect(written).toBe(Math.ceil(now + 600))
    const next = createFence(directory, () => undefined)
    next.resume()
    next.close()
    expect(Number(readFileSync(join(directory, 'fence'), 'latin1').split(' ')[0])).toBe(written)
  })
})
