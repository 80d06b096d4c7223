import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newerThanNode20 } from '../../scripts/lock-engines.ts'
import { ROOT } from './source-files.ts'

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
