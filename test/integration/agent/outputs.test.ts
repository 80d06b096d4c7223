/** What an agent takes of a working directory, which is a stranger's, as outputs. */
import { execFileSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { collectOutputs } from '../../../src/agent/outputs/collect-outputs.ts'
import { manifestId } from '../../../src/domain/session/outputs.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

let work: string
const signal = new AbortController().signal

beforeEach(async () => {
  work = await temporaryDirectory('work')
})

function collect(patterns: string[], bytesMax = Number.MAX_SAFE_INTEGER) {
  return collectOutputs(work, { patterns, bytesMax, signal })
}

function write(path: string, text: string): void {
  mkdirSync(join(work, path, '..'), { recursive: true })
  writeFileSync(join(work, path), text)
}

describe('outputs', () => {
  test('are the files that the patterns select, and all of REPRISE_OUTPUT_DIR, in the order of bytes', async () => {
    for (const path of ['r/ü', 'r/z', 'r/a/b', 'other', '.reprise-output/m', '.reprise-verdict.json']) write(path, path)
    const { state, files, reasons } = await collect(['**', '!other'])
    expect({ state, reasons, paths: files.map(({ path }) => path) }).toEqual({
      state: 'COMPLETE',
      reasons: [],
      paths: ['m', 'r/a/b', 'r/z', 'r/ü'],
    })
    const id = (list: typeof files) => {
      const manifest = manifestId()
      for (const file of list) manifest.add(file)
      return manifest.id()
    }
    expect(id((await collect(['r/'])).files)).toBe(id(files))
    chmodSync(join(work, 'r/z'), 0o755)
    expect(id((await collect(['r/'])).files)).not.toBe(id(files))
  })

  test('of the same path are named, and the one of REPRISE_OUTPUT_DIR is taken', async () => {
    write('m', 'beside')
    write('.reprise-output/m', 'inside')
    const { state, files, reasons } = await collect(['m'])
    expect({ state, bytes: files.map(({ bytes }) => bytes) }).toEqual({ state: 'PARTIAL', bytes: [6] })
    expect(reasons).toEqual(['m: the one in REPRISE_OUTPUT_DIR was taken, not the one beside it'])
  })

  test('beyond the limit are named', async () => {
    for (const path of ['a', 'b', 'c']) write(path, '12345')
    const { state, files, reasons } = await collect(['*'], 12)
    expect({ state, reasons, paths: files.map(({ path }) => path) }).toEqual({
      state: 'PARTIAL',
      reasons: ['c: it has 5 bytes, and 2 are left of the limit'],
      paths: ['a', 'b'],
    })
  })

  test('are not more than a few reasons long', async () => {
    for (let index = 0; index < 60; index++) symlinkSync('/etc', join(work, `link${index}`))
    const { reasons } = await collect(['*'])
    expect(reasons).toHaveLength(19)
    expect(reasons.at(-1)).toBe('and 42 more')
  })
})

/** Puts the link in the place of the directory, and back. */
const SWAPS = [
  ['dir', 'aside'],
  ['link', 'dir'],
  ['dir', 'link'],
  ['aside', 'dir'],
] as const

describe('of the machine, nothing is taken', () => {
  const secret = 'root:x:0:0'

  test('through a link in place of a file, a directory or the working directory', async () => {
    const outside = await temporaryDirectory('outside')
    writeFileSync(join(outside, 'passwd'), secret)
    mkdirSync(join(outside, '.reprise-output'))
    writeFileSync(join(outside, '.reprise-output/passwd'), secret)
    symlinkSync(outside, join(work, 'results'))
    symlinkSync(join(outside, 'passwd'), join(work, 'passwd'))
    symlinkSync(join(outside, '.reprise-output'), join(work, '.reprise-output'))
    expect((await collect(['**'])).files).toEqual([])
    renameSync(work, `${work}.aside`)
    symlinkSync(outside, work)
    expect((await collect(['**'])).files).toEqual([])
  })

  test('while a directory is replaced by a link, again and again', async () => {
    const outside = await temporaryDirectory('outside')
    for (let index = 0; index < 200; index++) {
      write(`dir/${index}`, 'mine')
      writeFileSync(join(outside, String(index)), secret)
    }
    symlinkSync(outside, join(work, 'link'))
    const ending = new AbortController()
    const swap = async () => {
      while (!ending.signal.aborted) {
        for (const [from, to] of SWAPS) await rename(join(work, from), join(work, to))
      }
    }
    const swapped = swap()
    const taken = []
    for (let round = 0; round < 5; round++) taken.push(...(await collect(['dir/**'])).files)
    ending.abort()
    await swapped
    expect(taken.filter(({ bytes }) => bytes !== 'mine'.length)).toEqual([])
  })

  test.skipIf(process.getuid!() !== 0)('by a further name of another user’s file', async () => {
    write('own', 'x')
    const outside = await temporaryDirectory('outside')
    writeFileSync(join(outside, 'secret'), secret)
    linkSync(join(outside, 'secret'), join(work, 'hard'))
    execFileSync('chown', ['65534', work])
    const { files, reasons } = await collect(['*'])
    expect({ paths: files.map(({ path }) => path), reasons }).toEqual({
      paths: ['own'],
      reasons: ['hard: it belongs to another user'],
    })
  })
})
