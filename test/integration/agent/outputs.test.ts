/** What an agent takes of a working directory, which is a stranger's, as outputs. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, linkSync, mkdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import { collectOutputs } from '../../../src/agent/outputs/collect-outputs.ts'
import { createKernelDirectory } from '../../../src/agent/executors/kernels/kernel-directory.ts'
import type { OutputsAnswer, OutputsReport } from '../../../src/domain/agent/protocol.ts'
import { RepriseError } from '../../../src/domain/errors.ts'
import { createOutputKeeper } from '../../../src/agent/outputs/output-keeper.ts'
import { outputServers } from '../../contract/executor/output-servers.ts'
import { kernelSpec } from '../../contract/executor/executor-subject.ts'
import { eventually } from '../../support/eventually.ts'
import { keepInPlace } from '../../../src/agent/outputs/keep-in-place.ts'
import { createRemovals } from '../../../src/agent/removals.ts'
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

describe('outputs in place', () => {
  const log = pino({ enabled: false })
  const place = (removals = createRemovals({ log })) =>
    keepInPlace({ path: join(work, '..'), collect: () => collect(['r/', 'x']), removals })

  beforeEach(() => {
    work = join(work, 'work')
    mkdirSync(work)
  })

  test('are there once, however often the agent is killed', async () => {
    for (const path of ['r/a/b', 'r/c', 'x', '.reprise-output/m', 'other']) write(path, path)
    symlinkSync('c', join(work, 'r/link'))
    const killed = new Error('killed')
    const dies = { ...createRemovals({ log }), drop: () => expect.fail(killed.message) }
    await expect(place(dies)).rejects.toThrow(killed.message)
    // The list is what was found before, although the files have left the working directory.
    const { outputs, directory } = await place()
    const paths = ['m', 'r/a/b', 'r/c', 'r/link', 'x']
    expect(outputs).toMatchObject({ state: 'COMPLETE', files: paths.map((path) => ({ path })) })
    expect((await readdir(directory, { recursive: true })).toSorted()).toEqual([...paths, 'r', 'r/a'].toSorted())
    expect(await readdir(join(work, '..'))).not.toContain('work')
    expect((await place()).outputs).toEqual(outputs)
  })

  test('are not what took their place after they were read', async () => {
    const outside = await temporaryDirectory('outside')
    writeFileSync(join(outside, 'c'), 'a secret')
    for (const path of ['r/a/b', 'r/c', 'r/d']) write(path, path)
    const { outputs, directory } = await keepInPlace({
      path: join(work, '..'),
      removals: createRemovals({ log }),
      collect: async () => {
        const found = await collect(['r/'])
        renameSync(join(work, 'r/a'), join(work, 'aside'))
        symlinkSync(outside, join(work, 'r/a'))
        renameSync(join(work, 'r/c'), join(work, 'r/e'))
        symlinkSync(join(outside, 'c'), join(work, 'r/c'))
        return found
      },
    })
    expect(outputs).toMatchObject({
      state: 'PARTIAL',
      files: [{ path: 'r/d' }],
      reasons: ['r/a/b: it is gone', 'r/c: it is no longer a file'],
    })
    expect((await readdir(directory, { recursive: true })).toSorted()).toEqual(['r', 'r/a', 'r/d'])
    expect(await readFile(join(outside, 'c'), 'utf8')).toBe('a secret')
  })
})

test('outputs in place are removed once the servers do not want them, or have not known them for days', async () => {
  const kernelsDir = join(work, 'kernels')
  const path = join(kernelsDir, 'k')
  mkdirSync(kernelsDir)
  const log = pino({ enabled: false })
  const removals = createRemovals({ log })
  const spec = kernelSpec({ kernelId: 'k', outputPaths: ['*'], outputsInPlace: true })
  const record = { version: 1, assignment: 1, bootId: 'boot', spec } as const
  await createKernelDirectory(path, record, { owner: null }, removals)
  writeFileSync(join(path, 'work/a'), 'a')
  let settled = false
  let answer: () => Partial<OutputsAnswer> = () => ({ wanted: !settled, kept: settled })
  const hooks = {
    ...outputServers().hooks,
    reportOutputs: async ({ step }: Pick<OutputsReport, 'step'>) => {
      settled ||= step === 'END'
      return { wanted: true, bytesMax: 100, ...answer() }
    },
  }
  await using keeper = closing(createOutputKeeper({ kernelsDir, hooks, removals, log }))
  const kernel = { id: 'k', assignment: 1, spec, path, startedAt: '2026-01-01T00:00:00Z' }
  expect(await keeper.keep(kernel as never)).toBe(true)
  const kept = join(work, 'outputs/k.1')
  await eventually(() => settled)
  const review = async () => {
    await keeper.reviewInPlace()
    return existsSync(join(kept, 'files/a'))
  }
  expect(await review()).toBe(true)
  answer = () => {
    throw new RepriseError('KERNEL_NOT_FOUND', 'it is not known')
  }
  const later = () => utimesSync(join(kept, 'unknown'), new Date(0), new Date(0))
  expect(await review()).toBe(true)
  answer = () => ({ wanted: false, kept: true })
  later()
  expect(await review()).toBe(true)
  answer = () => {
    throw new RepriseError('KERNEL_NOT_FOUND', 'it is not known')
  }
  expect([await review(), await review()]).toEqual([true, true])
  // Servers that know the session, but have no list of its files, get it.
  settled = false
  answer = () => ({ wanted: !settled, kept: settled })
  expect(await review()).toBe(true)
  await eventually(() => settled)
  await eventually(async () => {
    await keeper.reviewInPlace()
    return !existsSync(join(kept, 'unknown'))
  })
  answer = () => {
    throw new RepriseError('KERNEL_NOT_FOUND', 'it is not known')
  }
  expect(await review()).toBe(true)
  later()
  expect(await review()).toBe(false)
})

function closing<T extends { close(): Promise<void> }>(each: T): T & AsyncDisposable {
  return Object.assign(each, { [Symbol.asyncDispose]: () => each.close() })
}

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
