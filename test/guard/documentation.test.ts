import { expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { CLIENT_VARIABLES } from '../../src/client/node/environment.ts'
import { CONFIGURATION, loadConfig } from '../../src/config.ts'
import { ERRORS } from '../../src/domain/errors.ts'
import { transitionDiagram } from '../../src/domain/session/transitions.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { readmeRows } from './readme-tables.ts'

const blocks = await blocksOfTest('test/guard/documentation.test.ts')

/** Both directions at once: what is missing in the README and what stands there too much are both differences. */

test('README "Configuration": | `NAME` | default | meaning | unit |', async () => {
  const expected = CONFIGURATION.map(({ name, default: value, meaning, unit }) => [name, value, meaning, unit ?? ''])
  expect((await readmeRows('Configuration')).toSorted(byName)).toEqual(expected.toSorted(byName))
})

test('README "Client": | `NAME` | default | meaning |', async () => {
  const expected = CLIENT_VARIABLES.map(({ name, default: value, meaning }) => [name, value, meaning])
  expect(await readmeRows('Client')).toEqual(expected)
})

test('a server does not wonder about what clients read', () => {
  const { warnings } = loadConfig(Object.fromEntries(CLIENT_VARIABLES.map(({ name }) => [name, '1'])))
  expect(warnings).toEqual([])
})

test('README "Errors": | `CODE` | type | HTTP status | retryable (yes, no) | … |', async () => {
  const rows = (await readmeRows('Errors')).map((row) => row.slice(0, 4))
  const expected = Object.entries(ERRORS).map(([code, { type, httpStatus, retryable }]) => [
    code,
    type,
    String(httpStatus),
    retryable ? 'yes' : 'no',
  ])
  expect(rows.toSorted(byName)).toEqual(expected.toSorted(byName))
})

test('README: the diagram of the statuses is the one that the table prints', () => {
  expect(blocks.find(({ language }) => language === 'mermaid')!.text).toBe(`${transitionDiagram()}\n`)
})

test('README: the first commands are scripts of the package', () => {
  const commands = blocks
    .find(({ heading }) => heading === 'Reprise')!
    .text.trim()
    .split('\n')
  const scripts = commands.map((line) => /^npm ci && npm (?:run )?(\w+) +# \S/.exec(line)?.[1])
  expect(scripts).toEqual(['demo', 'test'])
  for (const script of scripts) expect(Object.keys(packageJson.scripts)).toContain(script)
})

function byName(a: readonly string[], b: readonly string[]): number {
  return a[0]! < b[0]! ? -1 : 1
}
