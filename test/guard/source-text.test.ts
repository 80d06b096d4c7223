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

/** Where the real time is meant. */
const REAL_TIME: Record<string, string> = {
  'src/store/postgres/schema-engine.ts': "the history of migrations is Prisma's, and older than the clock's functions",
}

test('statements take the time from reprise_now() and reprise_clock(), which tests can move', () => {
  const bare =
    /(^|[^.\w])(now|(clock|statement|transaction)_timestamp|timeofday)\(\)|\b(current|local)_(time|timestamp|date)\b/i
  const found = files.flatMap(({ path, text }) => (path.startsWith('src/store/') && bare.test(text) ? [path] : []))
  expect(found).toEqual(Object.keys(REAL_TIME))
  expect(linesThatMatch(/\breprise_now\(\)/).length).toBeGreaterThan(150)
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
