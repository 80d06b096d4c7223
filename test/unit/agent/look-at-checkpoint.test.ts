import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { ChainHost } from '../../../src/agent/executors/chain/chain-host.ts'
import { chainDirectory } from '../../../src/agent/executors/chain/chain-directory.ts'
import { leftCheckpoint } from '../../../src/agent/executors/chain/look-at-checkpoint.ts'
import type { KernelEntry } from '../../../src/agent/executors/kernels/kernel-entry.ts'
import { CHECKPOINT_LOOK_ENTRIES_MIN } from '../../../src/domain/limits.ts'
import { kernelSpec } from '../../contract/executor/executor-subject.ts'

const chainsDir = mkdtempSync(join(tmpdir(), 'reprise-look-'))
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(chainsDir, { recursive: true, force: true })
})

test.each([
  ['a small checkpoint is counted, however slow the machine is', CHECKPOINT_LOOK_ENTRIES_MIN, true],
  ['a larger one is not, once the time is up', CHECKPOINT_LOOK_ENTRIES_MIN + 1, false],
])('%s', async (_, count, isCounted) => {
  const host = { chainsDir, tooLarge: new Map() } as unknown as ChainHost
  const entry = { spec: kernelSpec({ command: ['true'] }), found: null } as unknown as KernelEntry
  const directory = chainDirectory(host, entry.spec)
  mkdirSync(directory, { recursive: true })
  for (let n = 0; n < count; n++) writeFileSync(join(directory, String(n)), 'x')
  let seconds = 0
  vi.spyOn(performance, 'now').mockImplementation(() => 1_000 * seconds++)
  const left = await leftCheckpoint(host, entry)
  expect(left).toMatchObject({ files: isCounted ? count : null, bytes: isCounted ? count : null })
})
