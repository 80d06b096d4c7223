import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { newerThanNode20 } from '../../scripts/lock-engines.ts'
import {
  assertMayAdminister,
  endsOnlyOwnWork,
  mayChange,
  mayDiscover,
  mayRead,
  mayReadEnviron,
  mayReadMetrics,
} from '../../src/services/access/authorize.ts'
import { speaksForAll } from '../../src/services/agent/register-agent.ts'
import type { Role, Viewer } from '../../src/services/service-context.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { readSourceFiles, ROOT } from './source-files.ts'

const files = (await readSourceFiles()).filter(({ text }) => text.includes("from 'node:child_process'"))

/** docs/security.md says of each role what the code does. */
describe('the page on security', async () => {
  const text = await readFile(join(ROOT, 'docs/security.md'), 'utf8')

  const viewer = (role: Role, projectId: string | null): Viewer => ({
    tokenId: 'token',
    userId: null,
    name: role,
    role,
    projectId,
  })

  const COLUMNS: Readonly<Record<string, Viewer>> = {
    'ADMIN of all': viewer('ADMIN', null),
    'ADMIN of a project': viewer('ADMIN', 'project'),
    MEMBER: viewer('MEMBER', 'project'),
    VIEWER: viewer('VIEWER', 'project'),
    'METRICS of all': viewer('METRICS', null),
    'METRICS of a project': viewer('METRICS', 'project'),
    AGENT: viewer('AGENT', null),
  }

  /** By the beginning of the row. */
  const ROWS: Readonly<Record<string, (viewer: Viewer) => boolean>> = {
    'read its project': mayRead,
    'read values of environments': mayReadEnviron,
    // Nothing in the code could: test/contract/tenancy asks for them as everybody.
    'read secrets': () => false,
    change: mayChange,
    'end the work of others': (by) => mayChange(by) && !endsOnlyOwnWork(by),
    'administer a project': (by) => passes(() => assertMayAdminister(by, 'PROJECT')),
    'administer the cluster': (by) => passes(() => assertMayAdminister(by, 'CLUSTER')),
    'scrape `/metrics`': mayReadMetrics,
    'read service discovery': mayDiscover,
    'register agents and run kernels': (by) => by.role === 'AGENT' || speaksForAll(by),
  }

  function passes(check: () => void): boolean {
    try {
      check()
      return true
    } catch {
      return false
    }
  }

  /** The rows of the table below this heading. */
  function tableOf(heading: string): string[][] {
    const section = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? ''
    const lines = section.split('\n').filter((line) => line.startsWith('| '))
    return lines.map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  }

  describe('the table of isolations', () => {
    const [head, ...rows] = tableOf('Isolation')

    test('has the settings that agents report, and the page that describes them', async () => {
      const page = await readFile(join(ROOT, 'docs/executors.md'), 'utf8')
      const reported = ['namespaces+user', 'namespaces', 'user', 'none'].map((name) => `\`${name}\``)
      expect(head).toEqual(['can a kernel', ...reported])
      for (const name of reported) expect(page).toContain(`| ${name} | `)
      expect(text).toContain('(executors.md#isolation)')
    })

    test('answers for each of them, and promises nothing without isolation', () => {
      expect(rows.length).toBeGreaterThan(10)
      for (const [what, ...answers] of rows) {
        expect(
          answers.map((answer) => answer !== ''),
          what,
        ).toEqual([true, true, true, true])
        expect(answers.at(-1), what).not.toBe('no')
      }
    })
  })

  describe('the table of roles', () => {
    const [head, ...rows] = tableOf('Roles')

    test('has every role', () => {
      expect(head).toEqual(['may', ...Object.keys(COLUMNS)])
      const roles: Readonly<Record<Role, true>> = {
        ADMIN: true,
        MEMBER: true,
        VIEWER: true,
        METRICS: true,
        AGENT: true,
      }
      expect(new Set(Object.values(COLUMNS).map(({ role }) => role))).toEqual(new Set(Object.keys(roles)))
    })

    test('agrees with the code', () => {
      const said = Object.fromEntries(rows.map(([what, ...answers]) => [what!.split(':')[0], answers]))
      const done = Object.fromEntries(
        Object.entries(ROWS).map(([what, may]) => [what, Object.values(COLUMNS).map((by) => (may(by) ? 'yes' : 'no'))]),
      )
      expect(said).toEqual(done)
    })
  })

  describe('the table of attacks', async () => {
    const [head, ...rows] = tableOf('Who can do what to whom')
    const named = rows.flatMap(([who, does, , tests]) =>
      [...tests!.matchAll(/`([^`]+)`: “([^”]+)”/g)].map(([, file, name]) => ({
        line: `${who} ${does}`,
        file: file!,
        name: name!,
      })),
    )

    test('has all who there are', () => {
      expect(head).toEqual(['who', 'does what', 'what happens', 'shown by'])
      const who = rows.map(([each]) => each!)
      const roles = ['without a token', 'VIEWER', 'MEMBER', 'ADMIN of a project', 'METRICS', 'AGENT']
      const kernels = ['`namespaces+user`', '`namespaces`', '`user`', '`none`', 'container', '`slurm-user`']
      const others = [
        'Page of another site or port',
        'Other user of the machine',
        'Other role',
        'Owner of the database',
      ]
      for (const part of [...roles, ...kernels, ...others])
        expect(
          who.some((each) => each.includes(part)),
          part,
        ).toBe(true)
    })

    test('names a test on each line', () => {
      const lines = new Set(named.map(({ line }) => line))
      expect(rows.map(([who, does]) => `${who} ${does}`).filter((line) => !lines.has(line))).toEqual([])
      // Nothing else in that column, such as a name in other quotation marks.
      for (const [, , , tests] of rows) expect(tests!.replaceAll(/`[^`]+`: “[^”]+”/g, '')).toMatch(/^(<br>)*$/)
    })

    test.each(named)('$file has “$name”', async ({ file, name }) => {
      const source = await readFile(join(ROOT, file), 'utf8')
      expect([`'${name}'`, `"${name}"`, `\`${name}\``].some((literal) => source.includes(literal))).toBe(true)
    })
  })

  test('the drawing names existing things', async () => {
    const [drawing] = await blocksOfTest('test/guard/security.test.ts')
    for (const part of ['api', 'scheduler', 'kernels', 'PostgreSQL', 'secrets-key', 'webhooks'])
      expect(drawing!.text).toContain(part)
  })

  test('SECURITY.md points there', async () => {
    expect(await readFile(join(ROOT, 'SECURITY.md'), 'utf8')).toContain('(docs/security.md)')
    await access(join(ROOT, 'docs/security.md'))
    for (const heading of ['Trust boundaries', 'Roles', 'Isolation', 'Secrets', 'Hardening', 'Reporting a fault'])
      expect(text).toContain(`## ${heading}\n`)
  })
})

/**
 * Server and agent start programs with their own rights, often those of root. Each is found by `systemProgram`, or is a
 * shell or Node by its absolute path: never by the PATH of whoever started them.
 */
describe('programs that are started', () => {
  /** Programs that run with the rights of the person who typed the command. */
  const OF_THE_PERSON: Record<string, string> = {
    'src/cli/ui.ts': 'opens a browser',
    'src/cli/collect-files.ts': 'lists files of the directory that is uploaded',
    'src/cli/demo/server-process.ts': 'starts this program',
  }

  /** Files in which the program is an argument. */
  const BY_ARGUMENT: Record<string, string> = {
    'src/agent/executors/process/exec/exec-in-kernel.ts': '/bin/sh, by way of enter-kernel',
    'src/agent/executors/process/fence/fork-server.ts': '/bin/sh, by way of fork-server-entry',
    'src/agent/executors/process/isolation/select-isolation.ts': 'the command lines of kernels',
    'src/agent/gpus/gpu-driver.ts': 'the tools of GPUs, by their absolute path from systemProgram',
    'src/store/postgres/run-as.ts': 'programs of the embedded PostgreSQL, by their absolute path',
  }

  const STARTS = /\b(?:spawn|spawnSync|execFile|execFileSync|execute|fork|promisify\(execFile\))\(\s*([^,\s)][^,]*)/g
  const SAFE = /^(systemProgram\(|'\/bin\/sh'|process\.execPath)/

  test('every program that server and agent start is found where only root can put one', () => {
    const started = files.flatMap(({ path, text }) =>
      [...text.matchAll(STARTS)].map(([, program]) => ({ path, program: program! })),
    )
    expect(started.length).toBeGreaterThan(15)
    const others = started.filter(({ path, program }) => !SAFE.test(program) && !(path in OF_THE_PERSON))
    expect([...new Set(others.map(({ path }) => path))].toSorted()).toEqual(Object.keys(BY_ARGUMENT).toSorted())
  })

  test('each of them gets an environment that is chosen for it', () => {
    const inherits = files.flatMap(({ path, text }) =>
      path in OF_THE_PERSON
        ? []
        : [...text.matchAll(STARTS)].filter(({ index }) => !/\benv\b/.test(callAt(text, index))).map(() => path),
    )
    expect(inherits).toEqual([])
  })

  /** The text of a call, to its closing bracket. */
  function callAt(text: string, start: number): string {
    let depth = 0
    for (let end = text.indexOf('(', start); end < text.length; end++) {
      if (text[end] === '(') depth++
      if (text[end] === ')' && --depth === 0) return text.slice(start, end)
    }
    return text.slice(start)
  }

  test('no program is started through a shell, or with the inherited PATH', () => {
    expect(files.filter(({ text }) => /\bshell: true|\bexecSync?\(/.test(text)).map(({ path }) => path)).toEqual([])
    const bare = files.filter(({ text, path }) => /process\.env\['PATH'\]/.test(text) && !(path in OF_THE_PERSON))
    expect(bare.map(({ path }) => path)).toEqual([])
  })
})

describe('the lock file', () => {
  type Lock = Parameters<typeof newerThanNode20>[0]

  test('`npm ci` on Node 20 prints no block of EBADENGINE; `npm run generate` mends it', async () => {
    const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
    expect(Object.keys(lock.packages).length).toBeGreaterThan(400)
    expect(newerThanNode20(lock)).toEqual([])
  })

  test.each([
    ['>=22.15.0', false],
    ['^22.17.0 || >=24.0.0', false],
    ['>= 21', false],
    ['>200', false],
    ['^20.19.0 || >=22.12.0', true],
    ['20 || >=22', true],
    ['>= 14.6', true],
    ['>=8', true],
    ['*', true],
  ])('%s admits Node 20: %j', (node, admits) => {
    expect(newerThanNode20({ packages: { 'node_modules/one': { engines: { node } } } })).toHaveLength(admits ? 0 : 1)
  })
})
