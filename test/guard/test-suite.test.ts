import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { COMMANDS, PARTS } from '../support/run/parts.ts'
import { ROOT } from './source-files.ts'

const files = globSync('test/**/*.test.ts', { cwd: ROOT }).map((path) => path.replaceAll('\\', '/'))

describe('the parts of the suite', () => {
  test('every pattern finds files, and no file is in two parts', () => {
    const found = Object.entries(PARTS).flatMap(([part, patterns]) =>
      patterns.map((pattern) => ({ part, pattern, files: globSync(pattern, { cwd: ROOT }) })),
    )
    expect(found.filter((entry) => entry.files.length === 0)).toEqual([])
    const all = found.flatMap((entry) => entry.files)
    expect(all.filter((path, index) => all.indexOf(path) !== index)).toEqual([])
    expect(files.length).toBeGreaterThan(all.length)
  })

  test('every part is in one command', () => {
    expect(Object.values(COMMANDS).flat().toSorted()).toEqual([...Object.keys(PARTS), 'quick'].toSorted())
  })

  test('what `npm test` runs needs nothing of the distribution', async () => {
    const elsewhere = new Set(
      Object.entries(PARTS).flatMap(([part, patterns]) =>
        part === 'pure' ? [] : patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT })),
      ),
    )
    const quick = files.filter((path) => !elsewhere.has(path))
    expect(quick.length).toBeGreaterThan(150)
    const needing = await filesWith(quick, /\bwhyNo(?!Browser)\w+\(|\bskipReason\(/)
    // Parts of a guard that systemd and Compose look at where they are installed.
    expect(needing).toEqual(['test/guard/service-examples.test.ts'])
  })
})

test('the list of unsteady tests is short, and names tests that there are', async () => {
  const listed = JSON.parse(await readFile(join(ROOT, 'test/unsteady.json'), 'utf8')) as Record<string, string>[]
  expect(listed.length).toBeLessThanOrEqual(10)
  for (const entry of listed) {
    expect(Object.keys(entry).toSorted()).toEqual(['file', 'firstSeen', 'known', 'test'])
    expect(entry['firstSeen']).toMatch(/^\d{4}-\d\d-\d\d$/)
    expect(files).toContain(entry['file'])
  }
})

async function filesWith(paths: readonly string[], pattern: RegExp): Promise<string[]> {
  const texts = await Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })))
  return texts
    .filter(({ text }) => pattern.test(text))
    .map(({ path }) => path)
    .toSorted()
}
