import { expect, test } from 'vitest'
import { judgeExit, type ExitEvidence } from '../../../src/agent/executors/kernels/exit-verdict.ts'

const nothing: ExitEvidence = {
  exitCode: null,
  stopOrdered: false,
  stopError: null,
  oomKills: 0,
  oomMark: null,
  memoryLimitBytes: 100,
  missing: null,
}
const fenced = { stopOrdered: true, stopError: { name: 'agent-fenced', message: '' } }
const oomMark = { usedBytes: 120, limitBytes: 100 }

test.each<[string, Partial<ExitEvidence>, number | null, string | null]>([
  ['success', { exitCode: 0 }, 0, null],
  ['a failure', { exitCode: 3 }, 3, null],
  ['success in spite of an ordered stop', { exitCode: 0, stopOrdered: true }, 0, null],
  ['ended by the stop', { exitCode: 143, stopOrdered: true }, 143, null],
  ['killed by the stop', { stopOrdered: true }, 137, null],
  ['ended by the fence', { exitCode: 143, ...fenced }, 143, 'agent-fenced'],
  ['killed by the fence', fenced, 137, 'agent-fenced'],
  ['left with 0 when the fence told it to end', { exitCode: 0, ...fenced }, 0, 'agent-fenced'],
  ['out of memory behind the fence', { oomKills: 1, ...fenced }, 137, 'oom-killed'],
  ['gone', {}, null, 'kernel-vanished'],
  ['a child lost to the limit, success', { exitCode: 0, oomKills: 2 }, 0, null],
  ['killed by the cgroup', { exitCode: 137, oomKills: 1 }, 137, 'oom-killed'],
  ['failed for want of a killed child', { exitCode: 1, oomKills: 1 }, 1, 'oom-killed'],
  ['killed by the cgroup with its shim', { oomKills: 1 }, 137, 'oom-killed'],
  ['killed by the watcher', { oomMark }, 137, 'oom-killed'],
  ['no program', { exitCode: 127, missing: 'not there' }, 127, 'command-not-found'],
  ['no program, stopped', { exitCode: 127, missing: 'not there', stopOrdered: true }, 127, null],
  ['ended by itself before the watcher’s kill', { exitCode: 2, oomMark }, 2, null],
])('%s', (_name, evidence, exitCode, error) => {
  const verdict = judgeExit({ ...nothing, ...evidence })
  expect(verdict.exitCode).toBe(exitCode)
  expect(verdict.error?.name ?? null).toBe(error)
  expect(verdict.oomKilled).toBe(error === 'oom-killed')
})

test('numbers are told', () => {
  expect(judgeExit({ ...nothing, oomMark }).error?.message).toMatch(/120.*100/)
  expect(judgeExit({ ...nothing, oomKills: 1 }).error?.message).toContain('100')
})
