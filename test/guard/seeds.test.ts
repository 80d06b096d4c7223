import { existsSync, readFileSync, globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SEEDS_FILE, type SavedSeed } from '../support/run/saved-seeds.ts'

/** Tests that make random choices take their seeds from test/support/seeds.ts, so that each failure can be repeated. */

const files = globSync('test/**/*.ts').filter((path) => path !== 'test/support/seeds.ts')

test('no property is checked without a seed', () => {
  const texts = files.map((path) => [path, readFileSync(path, 'utf8')] as const)
  const unseeded = texts.filter(([, text]) => /\bfc\.(assert|check|sample)\(/.test(text) && !/\bseed\b/.test(text))
  expect(unseeded.map(([path]) => path)).toEqual([])
  expect(texts.filter(([, text]) => text.includes('checkProperty(')).length).toBeGreaterThan(40)
})

test('each saved seed is of a test that exists', () => {
  const saved = JSON.parse(readFileSync(SEEDS_FILE, 'utf8')) as SavedSeed[]
  const unknown = saved.filter(({ file, test: name }) => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    return !text.includes(name.split(' > ').at(-1)!) && !text.includes('.each(') && !text.includes('test(target.name')
  })
  expect(unknown).toEqual([])
})
