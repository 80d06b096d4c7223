import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/program/config.ts'
import { findProgram, whyNotInstalled } from '../support/distribution.ts'
import { ROOT } from './source-files.ts'

/** The units of systemd and the file of compose, as those programs read them. */

const run = promisify(execFile)
/** At most how exposed systemd finds each unit, from 0 to 10; programs of kernels inherit what the agent has. */
const UNITS = [
  { unit: 'reprise.service', command: 'serve', exposureMax: 1.6 },
  { unit: 'reprise-agent.service', command: 'agent', exposureMax: 5.7 },
]

const noSystemd = whyNotInstalled('systemd')
const noCompose = whyNotInstalled('docker-compose')
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'reprise-units-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

describe.each(UNITS)('docs/operation/$unit', ({ unit, command, exposureMax }) => {
  const example = () => readFile(join(ROOT, 'docs/operation', unit), 'utf8')

  test('gives the program a valid configuration', async () => {
    const text = await example()
    const settings = [...text.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!])
    expect(settings.length).toBeGreaterThan(2)
    expect(loadConfig(Object.fromEntries(settings)).warnings).toEqual([])
    expect(text).toContain(`\nExecStart=/usr/local/bin/reprise ${command}\n`)
    expect(text).toContain('\nRestartPreventExitStatus=78\n')
  })

  test.skipIf(noSystemd !== null)(`is understood by systemd, and closed enough ${noSystemd ?? ''}`, async () => {
    const file = join(directory, unit)
    // systemd looks whether the program is there.
    const program = join(ROOT, 'bin/reprise.mjs')
    await writeFile(file, (await example()).replace('/usr/local/bin/reprise', program))
    const analyze = findProgram('systemd-analyze')!
    const { stdout, stderr } = await run(analyze, ['verify', '--man=no', file])
    expect(stdout + stderr).not.toContain(unit)
    const threshold = String(Math.round(exposureMax * 10))
    await run(analyze, ['security', '--offline=yes', `--threshold=${threshold}`, '--no-pager', file])
  })
})

test.skipIf(noCompose !== null)(`docs/operation/compose.yaml is understood ${noCompose ?? ''}`, async () => {
  const { stdout } = await run(
    findProgram('docker-compose')!,
    ['--file', join(ROOT, 'docs/operation/compose.yaml'), 'config'],
    { env: { PATH: process.env['PATH'], HOME: directory, DATABASE_PASSWORD: 'secret', AGENT_TOKEN: 'token' } },
  )
  const { services, volumes } = parse(stdout)
  expect(Object.keys(services).toSorted()).toEqual(['agent', 'database', 'server'])
  expect(Object.keys(volumes)).toHaveLength(3)
  for (const { environment, ...service } of [services.server, services.agent]) {
    expect(loadConfig(environment).warnings).toEqual([])
    expect(service).toMatchObject({
      init: true,
      read_only: true,
      cap_drop: ['ALL'],
      stop_grace_period: expect.anything(),
    })
  }
  expect(services.server.environment.REPRISE_DATABASE_URL).toBe('postgresql://reprise:secret@database/reprise')
  expect(services.agent.command).toEqual(['agent'])
})
