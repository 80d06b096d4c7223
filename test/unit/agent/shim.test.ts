import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../../src/agent/executors/process/process-executor.ts'
import { parseProcStat } from '../../../src/agent/executors/process/proc-stat.ts'
import { quote } from '../../../src/agent/executors/process/shell.ts'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import { shimScript } from '../../../src/agent/executors/process/shim.ts'
import { anyText } from '../../support/any-text.ts'

const STAT = '4711 (a) b (c) S 1 4711 4711 0 -1 4194560 96 0 0 0 3 4 100 201 20 0 1 0 123456 2678784 407 1'

test('a stat line whose command holds blanks and parentheses', () => {
  expect(parseProcStat(STAT)).toEqual({
    pid: 4711,
    state: 'S',
    parent: 1,
    session: 4711,
    startTicks: 123_456,
    residentPages: 407,
    ownTicks: 7,
    waitedTicks: 301,
  })
})

test.each(['', '4711', '4711 (sh)', '4711 (sh) S 1'])('%j is no stat line', (line) => {
  expect(parseProcStat(line)).toBeNull()
})

test('a status counts by whole lines', () => {
  const text = `began ${STAT}\nexit 137\n`
  const kinds = new Set<string>()
  for (let length = 0; length <= text.length; length++) {
    const { shim, exitCode } = parseStatus(text.slice(0, length))
    kinds.add(`${shim?.pid ?? null} ${exitCode}`)
  }
  expect([...kinds]).toEqual(['null null', '4711 null', '4711 137'])
  const used = {
    commandEndedAtSeconds: 12.5,
    endedAtSeconds: 12.5,
    peakMemoryBytes: 4096,
    cpuSeconds: 1.5,
    waitedCpuSeconds: 3.01,
  }
  for (const cpu of ['usage_usec 1500000', '1500000000']) {
    expect(parseStatus(`began ${STAT}\nused 12.5|4096|${cpu}|${STAT}\nexit 0\n`)).toMatchObject({ used, exitCode: 0 })
  }
  expect(parseStatus(`used 12.5|||${STAT}|11.25\n`).used).toMatchObject({
    commandEndedAtSeconds: 11.25,
    endedAtSeconds: 12.5,
  })
  expect(parseStatus(`used 12.5|||${STAT}\n`).used).toEqual({ ...used, peakMemoryBytes: null, cpuSeconds: null })
  expect(parseStatus(`outside\n${text}`)).toMatchObject({ outsideCgroup: true, exitCode: 137 })
})

test('a kernel began when its shim has read the uptime, and with older shims when its process was started', () => {
  expect(parseStatus(`began ${STAT}|99.25\n`)).toMatchObject({ shim: parseProcStat(STAT), beganAtSeconds: 99.25 })
  expect(parseStatus(`began ${STAT}\n`)).toMatchObject({ shim: { pid: 4711 }, beganAtSeconds: 1_234.56 })
  expect(parseStatus('began \n')).toMatchObject({ shim: null, beganAtSeconds: null })
})

test('a shell reads quoted text as it was', () => {
  const texts = fc
    .sample(anyText({ maxLength: 20 }), { numRuns: 200, seed: 1 })
    .map((text) => text.replaceAll('\0', ''))
  const clean = texts.map((text) => Buffer.from(text).toString('utf8'))
  const script = `printf '%s\\0' ${clean.map(quote).join(' ')}`
  expect(execFileSync('/bin/sh', ['-c', script]).toString('utf8').split('\0').slice(0, -1)).toEqual(clean)
})

test.each([
  ['runs where its kernel is', true],
  ['runs nothing where its kernel is being removed, though the status is free', false],
])('a shim %s', (_name, there) => {
  const directory = mkdtempSync(join(tmpdir(), 'reprise-shim-'))
  try {
    mkdirSync(join(directory, 'work'))
    if (there) writeFileSync(join(directory, 'spec.json'), '{}')
    const argv = ['sh', '-c', 'echo ran']
    writeFileSync(
      join(directory, 'run.t'),
      shimScript({ tag: 'k t', argv, environ: new Map(), cgroup: null, launch: null, limits: DEFAULT_LIMITS }),
    )
    // In a group of its own, which it ends with itself.
    spawnSync('/bin/sh', ['-c', 'exec setsid sh ./run.t 8>said'], { cwd: directory })
    expect(readFileSync(join(directory, 'stdout'), 'utf8')).toBe(there ? 'ran\n' : '')
    expect(readFileSync(join(directory, 'said'), 'latin1')).toMatch(
      there ? /^k t began .*\nk t used [\d.]+\|\|\|.*\nk t exit 0\n$/ : /^k t failed\n$/,
    )
  } finally {
    rmSync(directory, { recursive: true })
  }
})
