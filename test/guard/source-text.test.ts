import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readSourceFiles, ROOT } from './source-files.ts'

const files = await readSourceFiles()

function linesThatMatch(pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  )
}

test('there is text to look at', () => {
  expect(files.length).toBeGreaterThan(50)
  expect(files.flatMap(({ comments }) => comments).length).toBeGreaterThan(100)
  expect(linesThatMatch(/^import /).length).toBeGreaterThan(files.length)
})

test('comments name no file: files move, and comments do not follow', () => {
  const naming = files.flatMap(({ path, comments }) =>
    comments
      .filter(({ value }) => /\bsrc\/|\btest\/|[\w-]\.(ts|mjs|js)\b/.test(value))
      .map(({ value }) => `${path}: ${value.trim()}`),
  )
  expect(naming).toEqual([])
})

test('nothing is left for later', () => {
  expect(linesThatMatch(/\b(TODO|FIXME|XXX|HACK)\b/)).toEqual([])
})

test('no path of somebody’s machine', () => {
  expect(linesThatMatch(/['"`\s](\/home\/|\/Users\/|\/root\/|\/work\/)/)).toEqual([])
})

test('each integration test file says in its first line what it holds', async () => {
  const folder = join(ROOT, 'test/integration')
  const tests = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.test.ts'))
  expect(tests.length).toBeGreaterThan(50)
  const firstLines = tests.map(async (path) => [path, (await readFile(join(folder, path), 'utf8')).split('\n', 1)[0]])
  const silent = (await Promise.all(firstLines)).filter(([, line]) => !/^\/\*\* [A-Z].*\. \*\/$/.test(line!))
  expect(silent).toEqual([])
})
