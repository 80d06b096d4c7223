import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { INSTALLED, readSourceFiles, ROOT } from './source-files.ts'

/**
 * A ratchet: the numbers of files may fall at any time, and rise only if the same commit raises the number here. Lower a
 * number once it has fallen.
 */
const SOURCES_MAX = 975
const SHORT_SOURCES_MAX = 858
const TESTS_MAX = 326

/** A source file with at most this many lines of code, without comments and empty lines, is short. */
const SHORT_LINES = 12
const LINES_MAX = 400
const ENTRIES_MIN = 3

/** `domain/limits.ts` is one table with the relations between its rows. */
const LONG_FILES: readonly string[] = [
  'src/domain/agent/protocol.ts',
  'src/domain/limits.ts',
  'src/ui/timeline/timeline-svg.tsx',
]

/** Each has fewer than three files and folders in it. */
const SMALL_FOLDERS: readonly string[] = ['src/cli/demo/programs', 'test/e2e/deployments']

const sources = (await readSourceFiles()).filter(({ path }) => !path.includes('.generated.'))
const inTests = globSync('test/**/*.{ts,tsx}', { cwd: ROOT, exclude: INSTALLED }).map((path) =>
  path.replaceAll('\\', '/'),
)

test('there are no more files than before', () => {
  const short = sources.filter(({ text, comments }) => linesOfCode(text, comments) <= SHORT_LINES)
  expect(sources.length).toBeGreaterThan(500)
  expect(sources.length).toBeLessThanOrEqual(SOURCES_MAX)
  expect(short.length, short.map(({ path }) => path).join('\n')).toBeLessThanOrEqual(SHORT_SOURCES_MAX)
  expect(inTests.filter((path) => path.endsWith('.test.ts')).length).toBeLessThanOrEqual(TESTS_MAX)
})

test(`no file has more than ${LINES_MAX} lines, but for those that are named`, async () => {
  const read = await Promise.all(
    inTests.map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })),
  )
  const long = [...sources, ...read].filter(({ text }) => text.split('\n').length - 1 > LINES_MAX)
  expect(long.map(({ path }) => path).toSorted()).toEqual(LONG_FILES.toSorted())
})

test(`no folder has fewer than ${ENTRIES_MIN} files and folders, but for those that are named`, () => {
  const paths = globSync('{src,test}/**', { cwd: ROOT, withFileTypes: true, exclude: INSTALLED })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(ROOT.length + 1)
        .replaceAll('\\', '/'),
    )
    .filter((path) => !path.startsWith('src/generated/'))
  const entries = new Map<string, Set<string>>()
  for (const path of paths) {
    const parts = path.split('/')
    for (const [depth, name] of parts.entries()) {
      const folder = parts.slice(0, depth).join('/')
      entries.set(folder, (entries.get(folder) ?? new Set()).add(name))
    }
  }
  entries.delete('')
  expect(entries.size).toBeGreaterThan(80)
  const small = [...entries].filter(([, inside]) => inside.size < ENTRIES_MIN).map(([folder]) => folder)
  expect(small.toSorted()).toEqual(SMALL_FOLDERS.toSorted())
})

/** Lines that hold more than comments and spaces. */
function linesOfCode(text: string, comments: readonly { start: number; end: number }[]): number {
  let code = ''
  let at = 0
  for (const { start, end } of comments) {
    code += text.slice(at, start)
    at = end
  }
  return (code + text.slice(at)).split('\n').filter((line) => line.trim() !== '').length
}
