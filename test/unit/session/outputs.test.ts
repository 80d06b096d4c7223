import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkProperty } from '../../support/seeds.ts'
import {
  createOutputMatcher,
  outputPathFault,
  outputPatternFault,
  staysInside,
} from '../../../src/domain/session/outputs.ts'

test.each([
  [['results/**'], 'results/a', true],
  [['results/**'], 'results/a/b.txt', true],
  [['results/**'], 'results', false],
  [['results/**'], 'old/results/a', false],
  [['results/'], 'old/results/a', true],
  [['results/'], 'results', false],
  [['results'], 'results', true],
  [['metrics.json'], 'deep/metrics.json', true],
  [['./metrics.json'], 'deep/metrics.json', false],
  [['*.pt', '!best.pt'], 'best.pt', false],
  [['*.pt', '!best.pt'], 'last.pt', true],
  [['!best.pt', '*.pt'], 'best.pt', true],
  [['results/**', '!results/tmp/'], 'results/tmp/x', false],
  [['a/**/z'], 'a/z', true],
  [['a/**/z'], 'a/b/c/z', true],
  [['a/*/z'], 'a/b/c/z', false],
  [['log-[0-9].txt'], 'log-7.txt', true],
  [['log-[!0-9].txt'], 'log-7.txt', false],
  [['[]x].txt'], '].txt', true],
  [['a?c'], 'abc', true],
  [['a?c'], 'a/c', false],
  [['\\*.txt'], 'a.txt', false],
  [['\\*.txt'], '*.txt', true],
  [['über*'], 'überall', true],
  [['**'], 'a/b', true],
  [[], 'a', false],
] as const)('the patterns %j and the path %s: %s', (patterns, path, selected) => {
  expect(createOutputMatcher(patterns)(path)).toBe(selected)
})

test('patterns mean what they mean to git', () => {
  const root = mkdtempSync(join(tmpdir(), 'reprise-match-'))
  try {
    execFileSync('git', ['init', '--quiet', root])
    const paths = ['a', 'b.x', 'ab', 'c/a', 'c/b.x', 'c/d/a', 'c/d/ab', 'c/d/e/b.x', 'd/a', 'd/[a']
    for (const path of paths) {
      mkdirSync(join(root, path, '..'), { recursive: true })
      writeFileSync(join(root, path), '')
    }
    const word = fc.constantFrom('a', 'b.x', 'c', 'd', 'e', '*', '**', 'a*', '*.x', '?', '[a-c]', '[!a]*')
    const pattern = fc
      .tuple(fc.array(word, { minLength: 1, maxLength: 4 }), fc.boolean())
      .map(([words, isDirectory]) => `${words.join('/')}${isDirectory ? '/' : ''}`)
    checkProperty(
      fc.property(pattern, (given) => {
        writeFileSync(join(root, '.git/info/exclude'), `${given}\n`)
        const ignored = spawnIgnored(root, paths)
        expect(paths.filter(createOutputMatcher([given]))).toEqual(ignored)
      }),
      { numRuns: 60 },
    )
  } finally {
    rmSync(root, { recursive: true })
  }
})

function spawnIgnored(root: string, paths: readonly string[]): string[] {
  try {
    const text = execFileSync('git', ['-C', root, 'check-ignore', '--no-index', '--stdin', '-z'], {
      input: paths.join('\0'),
      encoding: 'utf8',
    })
    return text.split('\0').filter(Boolean)
  } catch (error) {
    if ((error as { status?: number }).status === 1) return []
    throw error
  }
}

test('a hostile pattern takes no long time', () => {
  const selects = createOutputMatcher([`${'*a'.repeat(200)}b`, `${'**/a/'.repeat(80)}b`])
  expect(selects('a'.repeat(1_000))).toBe(false)
  expect(selects(`${'a/'.repeat(60)}a`)).toBe(false)
})

test('patterns and paths that leave the working directory are refused', () => {
  for (const pattern of ['/etc/passwd', '../x', 'a/../b', '!/x', '', '!', '/', ' ']) {
    expect(outputPatternFault(pattern), pattern).not.toBeNull()
  }
  expect(outputPatternFault('!results/*.tmp')).toBeNull()
  for (const path of ['/a', 'a//b', './a', 'a/..', '..', '', 'a/', 'a\0', '\ud800', 'x'.repeat(1_025)]) {
    expect(outputPathFault(path), path).not.toBeNull()
  }
  expect(outputPathFault('a/b c/ü')).toBeNull()
})

test('links may not leave the outputs', () => {
  expect(staysInside('a/b', '../c')).toBe(true)
  expect(staysInside('a/b', 'c/../d')).toBe(false)
  expect(staysInside('a/b', '../../c')).toBe(false)
  expect(staysInside('b', '..')).toBe(false)
  expect(staysInside('b', '/etc/passwd')).toBe(false)
  expect(staysInside('b', '')).toBe(false)
})
