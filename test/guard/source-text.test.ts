import { expect, test } from 'vitest'
import { readSourceFiles } from './source-files.ts'

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
