import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { speaksForAll } from '../../src/services/agent/register-agent.ts'
import {
  assertMayAdminister,
  mayChange,
  mayDiscover,
  mayRead,
  mayReadEnviron,
  mayReadMetrics,
} from '../../src/services/access/authorize.ts'
import type { Role, Viewer } from '../../src/services/service-context.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { ROOT } from './source-files.ts'

/** docs/security.md says of each role what the code does. */

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

  test('has what agents report, and the page that says how', async () => {
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
    const roles: Readonly<Record<Role, true>> = { ADMIN: true, MEMBER: true, VIEWER: true, METRICS: true, AGENT: true }
    expect(new Set(Object.values(COLUMNS).map(({ role }) => role))).toEqual(new Set(Object.keys(roles)))
  })

  test('says what the code does', () => {
    const said = Object.fromEntries(rows.map(([what, ...answers]) => [what!.split(':')[0], answers]))
    const done = Object.fromEntries(
      Object.entries(ROWS).map(([what, may]) => [what, Object.values(COLUMNS).map((by) => (may(by) ? 'yes' : 'no'))]),
    )
    expect(said).toEqual(done)
  })
})

describe('the table of who can do what to whom', async () => {
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
    const others = ['Page of another site or port', 'Other user of the machine', 'Other role', 'Owner of the database']
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

test('the drawing names what there is', async () => {
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
